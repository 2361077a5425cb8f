// `ssebench init [FILE]`: a commented scenario to start from.

import Foundation
import Scenarios

enum InitCommand {
  static let command = Command(
    name: "init", summary: "Write a commented scenario to start from",
    examples: [
      ("ssebench init first.json", "writes first.json, which runs as it stands: ssebench run first.json"),
      ("ssebench init", "prints the same"),
    ],
    operands: "[FILE]", operandCount: 0...1,
    discussion: "A file that exists is never written over.",
    run: { invocation in
      let text = StarterFile.text()
      guard let path = invocation.operands.first, path != "-" else {
        Terminal.result(text)
        return .success
      }
      let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
      if descriptor < 0 {
        let reason = errno == EEXIST ? "exists already; name another file" : String(cString: strerror(errno))
        throw CommandFailure(.cannotCreate, "\(path): \(reason)")
      }
      let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
      do { try file.write(contentsOf: Data(text.utf8)) } catch {
        throw CommandFailure(.ioError, "\(path): \(error.localizedDescription)")
      }
      Terminal.note("wrote \(path); next: ssebench run \(path)")
      return .success
    })
}
