# General clients of event streams against the mock's /events and chat: httpx-sse, sseclient-py, curl.

import json
import shutil
import subprocess

from _mock import faults, mock, run, skip

try:
    import httpx
    import httpx_sse
    import requests
    import sseclient
except ImportError as error:
    skip(f"{error.name} is not installed")
if not shutil.which("curl"):
    skip("curl is not installed")

TARGET = "/events?session=5&events=6&interval=1ms&first=1ms"


def httpx_reads_all_and_resumes():
    with mock(*faults({"kind": "fin", "at": {"event": 4}})) as url, httpx.Client() as client:
        got = []
        headers = {}
        for _ in range(5):
            try:
                with httpx_sse.connect_sse(client, "GET", url + TARGET, headers=headers) as source:
                    if source.response.status_code == 204:
                        break
                    for event in source.iter_sse():
                        got.append((event.id, json.loads(event.data)["ssebench"]["n"]))
            except httpx.RemoteProtocolError:
                pass
            headers = {"Last-Event-ID": got[-1][0]}
        assert got == [(str(n), n) for n in range(1, 7)], got


def httpx_refuses_html():
    with mock(*faults({"kind": "html"})) as url, httpx.Client() as client:
        try:
            with httpx_sse.connect_sse(client, "GET", url + TARGET) as source:
                list(source.iter_sse())
            raise AssertionError("no error")
        except httpx_sse.SSEError:
            pass


def sseclient_reads_all():
    with mock("--text", "mixed") as url:
        events = list(sseclient.SSEClient(requests.get(url + TARGET, stream=True)).events())
        assert [event.id for event in events] == [str(n) for n in range(1, 7)]
        assert all(json.loads(event.data)["text"] for event in events)


def curl(*words, body=None):
    return subprocess.run(["curl", "-sSN", "--max-time", "20", *words], capture_output=True, text=True, input=body)


def curl_streams_a_chat():
    with mock() as url:
        body = json.dumps({"model": "m", "stream": True, "messages": []})
        done = curl(url + "/v1/chat/completions", "-d", body)
        assert done.returncode == 0 and done.stdout.endswith("data: [DONE]\n\n")
        ten = curl("--http1.0", url + "/v1/chat/completions", "-d", body)
        assert ten.returncode == 0 and ten.stdout.endswith("data: [DONE]\n\n")
        large = curl(
            url + "/v1/chat/completions", "-H", "Expect: 100-continue", "-d", "@-",
            body=json.dumps({"stream": True, "x": "y" * 500_000}))
        assert large.returncode == 0


def curl_names_each_fault():
    expected = {"fin": (18,), "rst": (56, 18), "no_last_chunk": (18,), "half_close": (18,)}
    for kind, codes in expected.items():
        with mock(*faults({"kind": kind, "at": {"event": 3}})) as url:
            done = curl(url + TARGET)
            assert done.returncode in codes, (kind, done.returncode, done.stderr)
    with mock(*faults({"kind": "length", "by": 9, "at": {"event": 3}})) as url:
        assert curl(url + TARGET).returncode == 18
    with mock(*faults({"kind": "cut", "inside": "chunk_header", "at": {"event": 3}})) as url:
        assert curl(url + TARGET).returncode in (18, 56)
    with mock(*faults({"kind": "redirect", "loop": True, "times": "always"})) as url:
        assert curl("-L", "--max-redirs", "3", url + TARGET).returncode == 47


run([httpx_reads_all_and_resumes, httpx_refuses_html, sseclient_reads_all, curl_streams_a_chat, curl_names_each_fault])
