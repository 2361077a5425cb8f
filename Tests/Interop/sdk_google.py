# The vendor's SDK for Gemini against the mock: text, thoughts, tool calls, usage, errors.

from _mock import faults, mock, run, skip

try:
    from google import genai
    from google.genai import errors, types
except ImportError:
    skip("google-genai is not installed")


CLIENTS = []


def client(url):
    # The SDK closes a client that nobody holds, its streams with it.
    CLIENTS.append(genai.Client(api_key="none", http_options=types.HttpOptions(
        base_url=url, headers={"X-Ssebench-Session": "3"}, retry_options=types.HttpRetryOptions(attempts=1))))
    return CLIENTS[-1]


def text_and_usage():
    with mock("--text", "mixed") as url:
        chunks = list(client(url).models.generate_content_stream(model="g", contents="hello"))
        text = "".join(chunk.text or "" for chunk in chunks)
        assert text and chunks[-1].candidates[0].finish_reason == types.FinishReason.STOP
        assert chunks[-1].usage_metadata.candidates_token_count == 8
        assert client(url).models.generate_content(model="g", contents="hello").text == text


def max_tokens():
    with mock() as url:
        chunks = list(client(url).models.generate_content_stream(
            model="g", contents="hello", config=types.GenerateContentConfig(max_output_tokens=3)))
        assert sum(1 for chunk in chunks if chunk.text) == 3
        assert chunks[-1].candidates[0].finish_reason == types.FinishReason.MAX_TOKENS


def tool_call():
    with mock("--tool-call", "true", "--text", "mixed") as url:
        chunks = list(client(url).models.generate_content_stream(model="g", contents="hello"))
        calls = [call for chunk in chunks for call in chunk.function_calls or []]
        assert len(calls) == 1 and calls[0].name == "write_text" and calls[0].args["text"]


def thoughts():
    with mock("--reasoning-tokens", "4") as url:
        chunks = list(client(url).models.generate_content_stream(model="g", contents="hello"))
        parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]
        assert sum(1 for part in parts if part.thought) == 4
        assert sum(1 for part in parts if part.text and not part.thought) == 8


def error_in_the_stream():
    with mock(*faults({"kind": "error_object", "at": {"event": 3}})) as url:
        try:
            list(client(url).models.generate_content_stream(model="g", contents="hello"))
            raise AssertionError("no error")
        except errors.APIError as error:
            assert "on purpose" in str(error)


def status_errors():
    for code, kind in {400: errors.ClientError, 429: errors.ClientError, 503: errors.ServerError}.items():
        with mock(*faults({"kind": "status", "code": code})) as url:
            try:
                list(client(url).models.generate_content_stream(model="g", contents="hello"))
                raise AssertionError("no error")
            except kind as error:
                assert error.code == code


run([text_and_usage, max_tokens, tool_call, thoughts, error_in_the_stream, status_errors])
