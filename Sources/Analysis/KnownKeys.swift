// All keys of a summary that hold a number, taken from the code that makes summaries, so that the two cannot differ.

internal import Primitives
internal import Recording

package struct KnownKeys: Sendable {
  /// Paths within a variant and at the top of the summary.
  package let ofVariant: Set<String>
  package let ofRun: Set<String>
  /// Names of the scenario's variants; nil where they are not known, so that any name is accepted.
  package let variantNames: [String]?

  package init(variantNames: [String]?) {
    self.variantNames = variantNames
    ofVariant = Self.variantKeys
    ofRun = Self.runKeys
  }

  struct Unknown: Error {
    var message: String
  }

  /// The place that a path of a gate means: `variants.NAME.key`, a figure of each variant, or one of the run.
  func find(_ path: [String]) -> Result<GateKey, Unknown> {
    if path.first == "variants" {
      guard path.count > 2 else {
        return .failure(Unknown(message: "`variants` needs a name and a key: `variants[\"name\"].ttft_ms.p99`"))
      }
      let name = path[1]
      if let variantNames, !variantNames.contains(name) {
        let known = variantNames.map { "\"\($0)\"" }.joined(separator: ", ")
        let near = NearestWord.find(name, among: variantNames).map { "; did you mean \"\($0)\"?" } ?? ""
        return .failure(Unknown(message: "\"\(name)\" is no variant of this run (\(known))\(near)"))
      }
      let rest = Array(path[2...])
      return check(rest, known: ofVariant, also: []).map { GateKey(scope: .variant(name), path: rest) }
    }
    let text = path.joined(separator: ".")
    if !ofVariant.contains(text), ofRun.contains(text) { return .success(GateKey(scope: .run, path: path)) }
    return check(path, known: ofVariant, also: ofRun).map { GateKey(scope: .eachVariant, path: path) }
  }

  private func check(_ path: [String], known: Set<String>, also: Set<String>) -> Result<Void, Unknown> {
    let text = path.joined(separator: ".")
    if known.contains(text) || (path.count == 2 && path[0] == "models") { return .success(()) }
    let parts = known.union(also).filter { $0.hasPrefix(text + ".") }.map { String($0.dropFirst(text.count + 1)) }.sorted()
    if !parts.isEmpty {
      return .failure(Unknown(message: "`\(text)` is not a number; it has \(parts.prefix(10).joined(separator: ", "))"))
    }
    let near = NearestWord.find(text, among: known.union(also).sorted())
    return .failure(
      Unknown(message: "`\(text)` is not a figure of the summary\(near.map { "; did you mean `\($0)`?" } ?? "")"))
  }

  private static let variantKeys: Set<String> = {
    let variant = VariantRecord(name: "", client: .object(JSONObject()))
    variant.memory = MemoryFigures()
    variant.memory?.slopeLow = 0
    variant.memory?.slopeHigh = 0
    variant.hasLedger = true
    variant.numbering = .known
    variant.wukongim = WuKongRecord()
    variant.instrument.mockCPUSeconds = 0
    variant.total.counters.cancelled = 1
    for metric in Metric.allCases { variant.total.record(metric, 1) }
    return leaves(of: VariantFigures.tree(variant))
  }()

  private static let runKeys: Set<String> = {
    var record = RunRecord()
    record.mergedShards = [0]
    record.machine.clock = HostClock(reference: "", isFine: true, offset: 0, uncertainty: 0, samples: 0)
    let run = leaves(of: Summary.run(record)).map { "run.\($0)" }
    return Set(run).union(leaves(of: Summary.machine(record.machine)).map { "machine.\($0)" })
  }()

  /// Paths of numbers, truth values and nulls: whatever a gate could compare.
  private static func leaves(of value: JSONValue) -> Set<String> {
    switch value {
    case .object(let object):
      var keys: Set<String> = []
      for (key, value) in object.pairs {
        switch value {
        case .object, .array: keys.formUnion(leaves(of: value).map { "\(key).\($0)" })
        case .string: continue
        default: keys.insert(key)
        }
      }
      return keys
    case .array(let values):
      return Set(values.enumerated().filter { $1.asDouble != nil }.map { "\($0.offset)" })
    default: return []
    }
  }
}
