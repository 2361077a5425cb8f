# The vendor's SDK for Ollama against the mock: text, thinking, tool calls, usage, errors.

from _mock import faults, mock, run, skip

try:
    import ollama
except ImportError:
    skip("ollama is not installed")

MESSAGES = [{"role": "user", "content": "Write a short story about a lighthouse."}]


def client(url):
    return ollama.Client(host=url, headers={"X-Ssebench-Session": "3"})


def text_and_usage():
    with mock("--text", "mixed") as url:
        parts = list(client(url).chat(model="m", messages=MESSAGES, stream=True))
        text = "".join(part.message.content for part in parts)
        assert text and parts[-1].done and parts[-1].done_reason == "stop"
        assert parts[-1].eval_count == 8 and parts[-1].prompt_eval_count == 9
        assert client(url).chat(model="m", messages=MESSAGES).message.content == text


def token_limit():
    with mock() as url:
        parts = list(client(url).chat(model="m", messages=MESSAGES, stream=True, options={"num_predict": 3}))
        assert sum(1 for part in parts if part.message.content) == 3 and parts[-1].done_reason == "length"


def tool_call():
    with mock("--tool-call", "true", "--text", "mixed") as url:
        parts = list(client(url).chat(model="m", messages=MESSAGES, stream=True))
        calls = [call for part in parts for call in part.message.tool_calls or []]
        assert len(calls) == 1 and calls[0].function.name == "write_text" and calls[0].function.arguments["text"]


def thinking():
    with mock("--reasoning-tokens", "4") as url:
        parts = list(client(url).chat(model="m", messages=MESSAGES, stream=True))
        assert sum(1 for part in parts if part.message.thinking) == 4


def error_in_the_stream():
    with mock(*faults({"kind": "error_object", "at": {"event": 3}})) as url:
        try:
            list(client(url).chat(model="m", messages=MESSAGES, stream=True))
            raise AssertionError("no error")
        except ollama.ResponseError as error:
            assert "on purpose" in str(error)


def status_error():
    with mock(*faults({"kind": "status", "code": 503})) as url:
        try:
            list(client(url).chat(model="m", messages=MESSAGES, stream=True))
            raise AssertionError("no error")
        except ollama.ResponseError as error:
            assert error.status_code == 503


run([text_and_usage, token_limit, tool_call, thinking, error_in_the_stream, status_error])
