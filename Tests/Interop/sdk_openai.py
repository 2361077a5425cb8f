# The vendor's SDK for OpenAI against the mock: chat, legacy completions and responses; text, tool calls, usage, errors.

import json

from _mock import faults, mock, run, skip

try:
    import openai
except ImportError:
    skip("openai is not installed")

MESSAGES = [{"role": "user", "content": "Write a short story about a lighthouse."}]


def client(url, **more):
    return openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0, **more)


def chat_text_and_usage():
    with mock("--text", "mixed") as url:
        headers = {"X-Ssebench-Session": "3"}
        stream = client(url).chat.completions.create(
            model="m", messages=MESSAGES, stream=True, stream_options={"include_usage": True}, extra_headers=headers)
        chunks = list(stream)
        text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        assert chunks[0].choices[0].delta.role == "assistant"
        assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
        assert chunks[-1].usage.completion_tokens == 8 and chunks[-1].usage.prompt_tokens == 9
        assert [c.ssebench["n"] for c in chunks] == list(range(1, 11))
        assert {c.model for c in chunks} == {"m"}
        whole = client(url).chat.completions.create(model="m", messages=MESSAGES, extra_headers=headers)
        assert whole.choices[0].message.content == text and text


def chat_helper_of_the_sdk():
    with mock() as url:
        with client(url).chat.completions.stream(model="m", messages=MESSAGES) as stream:
            for _ in stream:
                pass
            final = stream.get_final_completion()
        assert final.choices[0].message.content and final.choices[0].finish_reason == "stop"


def chat_max_tokens():
    with mock() as url:
        stream = client(url).chat.completions.create(model="m", messages=MESSAGES, stream=True, max_completion_tokens=3)
        chunks = list(stream)
        assert sum(1 for c in chunks if c.choices[0].delta.content) == 3
        assert chunks[-1].choices[0].finish_reason == "length"


def chat_tool_call():
    with mock("--tool-call", "true", "--text", "mixed") as url:
        stream = client(url).chat.completions.create(model="m", messages=MESSAGES, stream=True)
        name, arguments, reason = None, "", None
        for chunk in stream:
            for call in chunk.choices[0].delta.tool_calls or []:
                name = call.function.name or name
                arguments += call.function.arguments or ""
            reason = chunk.choices[0].finish_reason or reason
        assert name == "write_text" and reason == "tool_calls"
        assert json.loads(arguments)["text"]
        whole = client(url).chat.completions.create(model="m", messages=MESSAGES)
        assert json.loads(whole.choices[0].message.tool_calls[0].function.arguments)["text"]


def chat_reasoning():
    with mock("--reasoning-tokens", "4") as url:
        chunks = list(client(url).chat.completions.create(model="m", messages=MESSAGES, stream=True))
        deltas = [c.choices[0].delta for c in chunks]
        assert sum(1 for d in deltas if getattr(d, "reasoning_content", None)) == 4
        assert sum(1 for d in deltas if d.content) == 8


def legacy_completions():
    with mock() as url:
        chunks = list(client(url).completions.create(
            model="m", prompt="x", stream=True, stream_options={"include_usage": True}))
        assert "".join(c.choices[0].text for c in chunks if c.choices)
        assert chunks[-1].usage.completion_tokens == 8
        assert client(url).completions.create(model="m", prompt="x").choices[0].text


def responses_text():
    with mock("--text", "mixed") as url:
        events = list(client(url).responses.create(model="m", input="hello", stream=True))
        text = "".join(e.delta for e in events if e.type == "response.output_text.delta")
        done = [e for e in events if e.type == "response.output_text.done"][0]
        final = events[-1]
        assert final.type == "response.completed" and text == done.text == final.response.output_text and text
        assert final.response.usage.output_tokens == 8
        with client(url).responses.stream(model="m", input="hello") as stream:
            for _ in stream:
                pass
            assert stream.get_final_response().output_text
        assert client(url).responses.create(model="m", input="hello").output_text


def responses_reasoning_and_tool():
    with mock("--tool-call", "true", "--reasoning-tokens", "3") as url:
        events = list(client(url).responses.create(model="m", input="hello", stream=True))
        assert sum(1 for e in events if e.type == "response.reasoning_summary_text.delta") == 3
        arguments = "".join(e.delta for e in events if e.type == "response.function_call_arguments.delta")
        assert json.loads(arguments)["text"]
        kinds = [item.type for item in events[-1].response.output]
        assert kinds == ["reasoning", "function_call"], kinds
        with client(url).responses.stream(model="m", input="hello") as stream:
            for _ in stream:
                pass
            assert stream.get_final_response().output[1].arguments == arguments


def error_in_the_stream():
    with mock(*faults({"kind": "error_object", "at": {"event": 3}})) as url:
        try:
            list(client(url).chat.completions.create(model="m", messages=MESSAGES, stream=True))
            raise AssertionError("no error")
        except openai.APIError as error:
            assert "on purpose" in str(error), error


def status_errors():
    kinds = {401: openai.AuthenticationError, 404: openai.NotFoundError, 429: openai.RateLimitError, 503: openai.InternalServerError}
    for code, kind in kinds.items():
        with mock(*faults({"kind": "status", "code": code})) as url:
            try:
                client(url).chat.completions.create(model="m", messages=MESSAGES, stream=True)
                raise AssertionError("no error")
            except kind as error:
                assert error.status_code == code


def retry_after_a_503():
    with mock(*faults({"kind": "status", "code": 503, "retry_after": "0"})) as url:
        sdk = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=1, default_headers={"X-Ssebench-Session": "1"})
        assert list(sdk.chat.completions.create(model="m", messages=MESSAGES, stream=True))


def bad_request():
    with mock() as url:
        try:
            client(url).chat.completions.create(model="m", messages=MESSAGES, max_tokens=-1)
            raise AssertionError("no error")
        except openai.BadRequestError as error:
            assert "negative" in str(error)


def models():
    with mock() as url:
        assert [m.id for m in client(url).models.list()] == ["mock-1"]


run([chat_text_and_usage, chat_helper_of_the_sdk, chat_max_tokens, chat_tool_call, chat_reasoning, legacy_completions,
     responses_text, responses_reasoning_and_tool, error_in_the_stream, status_errors, retry_after_a_503, bad_request, models])
