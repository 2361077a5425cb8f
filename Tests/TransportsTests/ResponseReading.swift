// Feeds an HTTPResponseReader and keeps what it says, as plain facts that tests compare.

import Transports

/// What a reader made of the bytes of one connection.
struct ReadResponse: Equatable {
  var heads: [ResponseHead] = []
  var body: [UInt8] = []
  var isComplete = false
  var failure: String?
  var canBeReused = false
  var endsAtClose = false
  /// Bytes behind the response, untouched.
  var rest = 0

  var text: String { String(decoding: body, as: UTF8.self) }
  var final: ResponseHead? { heads.last }

  /// Feeds `bytes` in the pieces that `cuts` make; a reader must give the same for all of them.
  static func of(_ bytes: [UInt8], cuts: [Int] = []) -> ReadResponse {
    var reader = HTTPResponseReader()
    var result = ReadResponse()
    var start = 0
    pieces: for end in cuts + [bytes.count] {
      var piece = Array(bytes[start..<end])
      start = end
      let isOver = piece.withUnsafeMutableBytes { buffer -> Bool in
        var position = 0
        while true {
          switch reader.next(buffer, &position) {
          case .needsMore: return false
          case .head(let head): result.heads.append(head)
          case .body(let range):
            if range.isEmpty { result.failure = "an empty body range" }
            result.body += buffer[range]
          case .complete:
            result.isComplete = true
            result.rest = buffer.count - position + bytes.count - end
            return true
          case .failed(let sentence):
            result.failure = sentence
            return true
          }
        }
      }
      if isOver { break pieces }
    }
    result.canBeReused = reader.canBeReused
    result.endsAtClose = reader.endsAtClose
    return result
  }

  static func of(_ text: String) -> ReadResponse { of(Array(text.utf8)) }
}
