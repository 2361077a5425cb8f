// Warnings of one kind with one remedy stand together, so that ten variants do not repeat a hint ten times.

internal import Recording

struct WarningGroup {
  var code: String
  var hint: String
  var messages: [String]

  /// In the order in which each kind first came.
  static func of(_ warnings: [RunWarning]) -> [WarningGroup] {
    var groups: [WarningGroup] = []
    for warning in warnings {
      if let at = groups.firstIndex(where: { $0.code == warning.code && $0.hint == warning.hint }) {
        groups[at].messages.append(warning.message)
      } else {
        groups.append(WarningGroup(code: warning.code, hint: warning.hint, messages: [warning.message]))
      }
    }
    return groups
  }
}
