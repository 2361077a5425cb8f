#!/usr/bin/env python3
"""Bodies that come compressed, unasked or asked for, in a coding nobody knows, and from another model than asked.

A server of the standard library answers; ssebench reads it through each stack.
"""

import gzip
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
SSEBENCH = os.environ.get("SSEBENCH", os.path.join(HERE, "../../.build/release/ssebench"))


def event(text, model):
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": model,
             "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]}
    return f"data: {json.dumps(chunk)}\n\n"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = {}

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kind = self.path.strip("/")
        Handler.asked[kind] = self.headers.get("Accept-Encoding")
        model = "fallback-9" if kind == "model" else "m"
        body = ("".join(event(f"t{n} ", model) for n in range(8)) + "data: [DONE]\n\n").encode()
        coding = None
        if kind == "unasked" or (kind == "asked" and "gzip" in (Handler.asked[kind] or "")):
            body, coding = gzip.compress(body), "gzip"
        if kind == "unknown":
            coding = "x-martian"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        if coding:
            self.send_header("Content-Encoding", coding)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def run(folder, port, kind, stack, headers):
    scenario = {
        "name": kind,
        "endpoint": {"url": f"http://127.0.0.1:{port}/{kind}", "api": "openai-chat", "headers": headers},
        "request": {"model": "m"},
        "load": {"sessions": 2},
        "client": {"stack": stack},
    }
    path = os.path.join(folder, f"{kind}-{stack}.json")
    with open(path, "w") as file:
        json.dump(scenario, file)
    out = os.path.join(folder, f"{kind}-{stack}")
    result = subprocess.run([SSEBENCH, "run", path, "--out", out, "--quiet"], capture_output=True, text=True,
                            timeout=120, stdin=subprocess.DEVNULL)
    summary = os.path.join(out, "summary.json")
    if not os.path.exists(summary):
        sys.exit(f"{kind} through {stack}: {result.stdout}{result.stderr}")
    with open(summary) as file:
        return json.load(file)


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    problems = []

    def expect(what, condition, found):
        print(f"{'ok' if condition else 'NOT OK'}  {what}")
        if not condition:
            problems.append(f"{what}: found {found}")

    with tempfile.TemporaryDirectory() as folder:
        for stack in ["curl", "urlsession", "raw"]:
            def variant(kind, headers={}):
                return run(folder, port, kind, stack, headers)

            summary = variant("unasked")
            first = summary["variants"][0]
            if stack == "raw":
                expect("raw: a compressed body is unsupported_encoding", first["errors"]["unsupported_encoding"] == 2,
                       first["errors"])
            else:
                expect(f"{stack}: a body compressed unasked is decoded", first["sessions"]["completed"] == 2
                       and first["tokens"]["count"] == 16, (first["sessions"], first["errors"]))
                first = variant("asked", {"Accept-Encoding": "gzip"})["variants"][0]
                expect(f"{stack}: the user's Accept-Encoding is sent as it is", Handler.asked["asked"] == "gzip",
                       Handler.asked["asked"])
                expect(f"{stack}: what it asked for is decoded", first["sessions"]["completed"] == 2, first["errors"])
            first = variant("unknown")["variants"][0]
            expect(f"{stack}: an unknown coding is unsupported_encoding", first["errors"]["unsupported_encoding"] == 2,
                   {k: v for k, v in first["errors"].items() if v})
            summary = variant("model")
            first = summary["variants"][0]
            expect(f"{stack}: another model than asked is counted", first["models"] == {"fallback-9": 2}, first["models"])
            expect(f"{stack}: and warned about", any(w["code"] == "model_mismatch" for w in summary["warnings"]),
                   [w["code"] for w in summary["warnings"]])
    server.shutdown()
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


main()
