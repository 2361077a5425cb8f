// An event's data through Foundation's JSONDecoder and Codable models, as app code reads it. In: bytes. Out: an EventReading. Where it differs
// from the other decoders, because Foundation does: half of a surrogate pair in a text makes the event undecodable; of a key that
// stands twice the first counts, not the last; a comma after the last member, a byte order mark before the text, nesting beyond 256, and bad
// numbers and escapes in members that no model has, go unnoticed.

internal import Foundation
internal import Primitives
package import Streams

/// The `foundation` decoder. One a thread.
package final class FoundationDecoder: ForeignDecoder {
  private let decoder = JSONDecoder()

  package init() {}

  package func read(
    _ data: UnsafeRawBufferPointer, eventType: UnsafeRawBufferPointer, api: StreamAPI
  ) -> EventReading? {
    // Apps get their event as a String, so bad UTF-8 has been repaired before.
    let text = Data(String(decoding: data, as: UTF8.self).utf8)
    let type = String(decoding: eventType, as: UTF8.self)
    switch api {
    case .openaiChat: return try? decoder.decode(OpenAIChunk.self, from: text).reading(isChat: true, eventType: type)
    case .openaiCompletions:
      return try? decoder.decode(OpenAIChunk.self, from: text).reading(isChat: false, eventType: type)
    case .openaiResponses: return try? decoder.decode(ResponsesEvent.self, from: text).reading(eventType: type)
    case .anthropicMessages: return try? decoder.decode(AnthropicEvent.self, from: text).reading(eventType: type)
    case .gemini:
      return try? decoder.decode(GeminiChunk.self, from: text).reading(eventType: type, document: OrderedDocument(text))
    case .ollama: return try? decoder.decode(OllamaLine.self, from: text).reading(document: OrderedDocument(text))
    case .sse: return try? decoder.decode(PlainEvent.self, from: text).reading()
    }
  }
}

extension KeyedDecodingContainer {
  /// What the optional members of the models are decoded by: a member of another type is left out, as a null is. Stands in this module before
  /// Foundation's, which would refuse the whole event for it.
  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    guard contains(key), try !decodeNil(forKey: key) else { return nil }
    return try unlessOfAnotherType { try decode(type, forKey: key) }
  }

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    guard contains(key), try !decodeNil(forKey: key) else { return nil }
    return try unlessOfAnotherType { try decode(type, forKey: key) }
  }

  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    guard contains(key), try !decodeNil(forKey: key) else { return nil }
    // A fraction is bad data to Foundation, not another type.
    return try? decode(type, forKey: key)
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    guard contains(key), try !decodeNil(forKey: key) else { return nil }
    return try unlessOfAnotherType { try decode(type, forKey: key) }
  }
}

/// Nil where the value is of another type; bad data stays an error.
private func unlessOfAnotherType<T>(_ decode: () throws -> T) throws -> T? {
  do {
    return try decode()
  } catch DecodingError.typeMismatch, DecodingError.valueNotFound {
    return nil
  }
}

extension SingleValueDecodingContainer {
  /// The value, or nil where it is of another type.
  func decodeIfOfType<T: Decodable>(_ type: T.Type) throws -> T? {
    try unlessOfAnotherType { try decode(type) }
  }
}

/// An element that is left out where its type is another one.
struct Lenient<Value: Decodable>: Decodable {
  var value: Value?

  init(from decoder: any Decoder) throws {
    value = try decoder.singleValueContainer().decodeIfOfType(Value.self)
  }
}

/// Text, or a list of parts with text and thinking (Mistral).
struct TextOrParts: Decodable {
  struct Part: Decodable {
    struct Inner: Decodable {
      var text: String?
    }
    var text: String?
    var thinking: Thinking?
  }

  /// A text, or a list of them.
  struct Thinking: Decodable {
    var texts: [String]
    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let text = try container.decodeIfOfType(String.self) {
        texts = [text]
      } else {
        texts = try container.decodeIfOfType([Lenient<Part.Inner>].self)?.compactMap { $0.value?.text } ?? []
      }
    }
  }

  var text: String?
  var parts: [Part] = []

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    text = try container.decodeIfOfType(String.self)
    if text == nil { parts = try container.decodeIfOfType([Lenient<Part>].self)?.compactMap(\.value) ?? [] }
  }
}

/// A number, a string or anything else, as JSON text.
struct AnyScalar: Decodable {
  var json: String?

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let text = try container.decodeIfOfType(String.self) {
      var out = ""
      JSONText.write(text, to: &out)
      json = out
    } else if let number = try? container.decode(Int.self) {
      json = String(number)
    } else if let number = try? container.decode(Double.self) {
      json = JSONValue.numberText(number)
    } else if let flag = try? container.decode(Bool.self) {
      json = String(flag)
    }
  }
}

/// An `error` member of any shape.
struct ErrorMember: Decodable {
  struct Fields: Decodable {
    var message: String?
    var detail: String?
    var type: String?
    var code: AnyScalar?
  }

  /// Nil where the member is false or an empty text.
  var failure: EventReading.Failure?

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let fields = try container.decodeIfOfType(Fields.self) {
      failure = EventReading.Failure(
        message: fields.message ?? fields.detail, type: fields.type, code: fields.code?.json)
    } else if let text = try container.decodeIfOfType(String.self) {
      failure = text.isEmpty ? nil : EventReading.Failure(message: text, type: nil, code: nil)
    } else if (try? container.decode(Bool.self)) != false {
      failure = EventReading.Failure(message: nil, type: nil, code: nil)
    }
  }
}

/// The same text as a value that keeps the order of keys, which Foundation does not: tool arguments are shown as they were sent.
struct OrderedDocument {
  private let text: Data

  init(_ text: Data) { self.text = text }

  /// The arguments of each call, in order, as compact JSON or, where it is a string, as it is.
  func arguments(_ find: (JSONValue) -> [JSONValue?]) -> [String] {
    guard let value = try? JSONReader.read(text) else { return [] }
    return find(value).map { arguments in
      guard let arguments else { return "" }
      return arguments.asString ?? arguments.compactText
    }
  }
}

extension JSONValue {
  /// Compact, with the escapes of `JSONText`.
  var compactText: String {
    switch self {
    case .string(let text):
      var out = ""
      JSONText.write(text, to: &out)
      return out
    case .array(let values): return "[" + values.map(\.compactText).joined(separator: ",") + "]"
    case .object(let object):
      return "{"
        + object.pairs.map { pair in JSONValue.string(pair.key).compactText + ":" + pair.value.compactText }
        .joined(separator: ",") + "}"
    default: return text()
    }
  }
}
