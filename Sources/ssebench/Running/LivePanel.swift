// One line on the terminal's stderr that follows the run; nothing where stderr is no terminal.

import Foundation
import Primitives

struct LiveProgress {
  var variant = ""
  var live: Int64 = 0
  var started: Int64 = 0
  var completed: Int64 = 0
  var failed: Int64 = 0
  var events: Int64 = 0
  var planned: Int?
  var elapsed = 0.0
  var duration: Double?
  /// Nanoseconds.
  var ttftP50: Int64?
}

final class LivePanel {
  private var lastShown = Instant(nanoseconds: 0)
  private var lastEvents: Int64 = 0
  private var lastInstant = Instant.now()
  private var isDrawn = false

  /// Redraws at most five times a second.
  func show(_ progress: LiveProgress) {
    let now = Instant.now()
    guard (now - lastShown).value > 200_000_000 else { return }
    let length = (now - lastInstant).seconds
    let rate = length > 0 ? Double(progress.events - lastEvents) / length : 0
    lastShown = now
    lastInstant = now
    lastEvents = progress.events
    var line = "live \(progress.live)  started \(progress.started)  completed \(progress.completed)"
    if progress.failed > 0 { line += "  failed \(progress.failed)" }
    line += "  \(Int(max(0, rate))) events/s"
    if let ttft = progress.ttftP50 { line += String(format: "  TTFT p50 %.0f ms", Double(ttft) / 1e6) }
    if let left = timeLeft(progress) { line += "  \(left) left" }
    if progress.variant != "default" { line = "[\(progress.variant)] " + line }
    let text = "\r\u{1B}[2K" + String(line.prefix(110))
    FileHandle.standardError.write(Data(text.utf8))
    isDrawn = true
  }

  private func timeLeft(_ progress: LiveProgress) -> String? {
    if let duration = progress.duration { return "\(max(0, Int(duration - progress.elapsed))) s" }
    guard let planned = progress.planned, progress.completed > 0, progress.elapsed > 1 else { return nil }
    let rate = Double(progress.completed + progress.failed) / progress.elapsed
    return "\(max(0, Int(Double(planned) / rate - progress.elapsed))) s"
  }

  /// Takes the line away.
  func clear() {
    if isDrawn { FileHandle.standardError.write(Data("\r\u{1B}[2K".utf8)) }
    isDrawn = false
  }
}
