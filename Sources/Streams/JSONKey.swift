// The member names that the dialects look for, so that the walk through a text finds them out once and by number.

/// A known member name; the raw value is its place in `list`, from 1.
enum JSONKey: UInt8, CaseIterable {
  case unknown = 0
  case args
  case arguments
  case cache_read_input_tokens
  case cachedContentTokenCount
  case cached_tokens
  case call_id
  case candidates
  case candidatesTokenCount
  case choices
  case code
  case completion_tokens
  case completion_tokens_details
  case content
  case content_block
  case delta
  case detail
  case done
  case done_reason
  case error
  case eval_count
  case finishReason
  case finish_reason
  case function
  case functionCall
  case function_call
  case id
  case index
  case input
  case input_tokens
  case input_tokens_details
  case item
  case message
  case model
  case modelVersion
  case name
  case object
  case output_index
  case output_tokens
  case output_tokens_details
  case partial_json
  case parts
  case promptTokenCount
  case prompt_cache_hit_tokens
  case prompt_eval_count
  case prompt_tokens
  case prompt_tokens_details
  case reasoning
  case reasoning_content
  case reasoning_tokens
  case refusal
  case response
  case status
  case stop_reason
  case text
  case thinking
  case thought
  case thoughtsTokenCount
  case tool_calls
  case totalTokenCount
  case total_tokens
  case type
  case usage
  case usageMetadata

  /// All names but `unknown`, in order, each followed by a NUL: what `CSimdjson_create` takes.
  static let list: String = allCases.dropFirst().map { "\($0)\0" }.joined()
}
