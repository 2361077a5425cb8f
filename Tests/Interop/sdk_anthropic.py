# The vendor's SDK for Anthropic against the mock: text, thinking, tool calls, usage, errors.

from _mock import faults, mock, run, skip

try:
    import anthropic
except ImportError:
    skip("anthropic is not installed")

ASK = {"model": "m", "max_tokens": 100, "messages": [{"role": "user", "content": "Write a short story about a lighthouse."}]}


def client(url):
    return anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)


def text_and_usage():
    with mock("--text", "mixed") as url:
        with client(url).messages.stream(**ASK, extra_headers={"X-Ssebench-Session": "3"}) as stream:
            text = "".join(stream.text_stream)
            final = stream.get_final_message()
        assert final.content[0].text == text and text
        assert final.stop_reason == "end_turn" and final.usage.output_tokens == 8 and final.usage.input_tokens == 9
        whole = client(url).messages.create(**ASK, extra_headers={"X-Ssebench-Session": "3"})
        assert whole.content[0].text == text


def raw_events():
    with mock() as url:
        kinds = [event.type for event in client(url).messages.create(**ASK, stream=True)]
        assert kinds[:2] == ["message_start", "content_block_start"]
        assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
        assert kinds.count("content_block_delta") == 8


def max_tokens():
    with mock() as url:
        with client(url).messages.stream(**{**ASK, "max_tokens": 3}) as stream:
            final = stream.get_final_message()
        assert final.stop_reason == "max_tokens" and final.usage.output_tokens == 3


def tool_call():
    with mock("--tool-call", "true", "--text", "mixed") as url:
        with client(url).messages.stream(**ASK) as stream:
            final = stream.get_final_message()
        assert final.stop_reason == "tool_use"
        assert final.content[0].name == "write_text" and final.content[0].input["text"]
        assert client(url).messages.create(**ASK).content[0].input["text"]


def thinking():
    with mock("--reasoning-tokens", "4") as url:
        with client(url).messages.stream(**ASK) as stream:
            final = stream.get_final_message()
        assert [block.type for block in final.content] == ["thinking", "text"]
        assert final.content[0].thinking and final.content[0].signature and final.content[1].text


def error_in_the_stream():
    with mock(*faults({"kind": "error_object", "at": {"event": 4}})) as url:
        try:
            with client(url).messages.stream(**ASK) as stream:
                stream.get_final_message()
            raise AssertionError("no error")
        except anthropic.APIStatusError as error:
            assert "on purpose" in str(error)


def status_errors():
    kinds = {401: anthropic.AuthenticationError, 429: anthropic.RateLimitError, 500: anthropic.InternalServerError}
    for code, kind in kinds.items():
        with mock(*faults({"kind": "status", "code": code})) as url:
            try:
                client(url).messages.create(**ASK, stream=True)
                raise AssertionError("no error")
            except kind as error:
                assert error.status_code == code


run([text_and_usage, raw_events, max_tokens, tool_call, thinking, error_in_the_stream, status_errors])
