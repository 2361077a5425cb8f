// Several followers of a run as one.

import Recording

final class ObserverList: RunObserver {
  private let members: [any RunObserver]

  init(_ members: [any RunObserver]) { self.members = members }

  func second(_ row: TimeSeriesRow, variant: VariantRecord, record: IntervalRecord) {
    for member in members { member.second(row, variant: variant, record: record) }
  }

  func session(_ record: SessionRecord) { for member in members { member.session(record) } }

  func disconnected(_ record: DisconnectRecord) { for member in members { member.disconnected(record) } }

  var wantsEnd: Bool { members.contains { $0.wantsEnd } }
}
