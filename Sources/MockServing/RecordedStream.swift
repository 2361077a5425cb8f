// A real stream as it arrived, kept for replay: JSON lines.

internal import Primitives

package struct RecordedStream: Sendable {
  static func load(_ file: String) throws(MockError) -> RecordedStream { throw .badRecording(file: file, reason: "stub") }
}
