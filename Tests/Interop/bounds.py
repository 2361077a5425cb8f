#!/usr/bin/env python3
"""Streams that would make a client grow without end: comments alone, lines ended by CR alone, one endless line or comment.

A server sends up to 256 MiB of each, as fast as it is taken. Strict clients with bounds of 1 MiB end in `too_large` where
something would have to be kept, and hold no more memory for the rest; what the faithful ones do is printed. All end in time.
"""

import contextlib
import json
import os
import subprocess
import time

from _listener import Listener
from _paths import SSEBENCH, Run, Scene

LIMIT_KB = 1024
MOST = 256 << 20
PATTERNS = {
    "comments": (b"", b": keep alive\n"),
    "comments-blank": (b"", b": keep alive\n\n"),
    "comment-without-end": (b": ", b"x" * 64),
    "cr": (b"", b"data: xxxxxxxx\r"),
    "cr-events": (b"", b"data: xxxxxxxx\r\r"),
    "line": (b"data: ", b"x" * 64),
    "id-without-end": (b"id: ", b"1" * 64),
    "unknown-field-without-end": (b"", b"x" * 64),
}


class Server(Listener):
    def __init__(self):
        self.sent = {}
        super().__init__()

    def serve(self, client):
        with contextlib.suppress(OSError), client:
            client.settimeout(20)
            head = b""
            while b"\r\n\r\n" not in head:
                data = client.recv(4096)
                if not data:
                    return
                head += data
            kind = head.split(b" ", 2)[1].decode().strip("/")
            first, pattern = PATTERNS[kind]
            block = pattern * (65536 // len(pattern))
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n" + first)
            sent = 0
            try:
                while sent < MOST:
                    client.sendall(block)
                    sent += len(block)
                    self.sent[kind] = sent
            finally:
                self.sent[kind] = sent


def main():
    with Scene() as scene:
        server = Server()
        rows = []
        clients = [("curl", "strict", {}), ("raw", "strict", {}), ("urlsession", "strict", {}), ("eventsource", "strict", {}),
                   ("bytes-lines", "strict", {}), ("live-monitor", "strict", {}), ("curl", "strict", {"parser": "data-only"}),
                   ("curl", "strict", {"parser": "eventsource"}), ("curl", "strict", {"parser": "lines"}),
                   ("eventsource", "faithful", {}), ("bytes-lines", "faithful", {})]
        for number, (stack, fidelity, more) in enumerate(clients):
            # What keeps nothing ends by its time; what keeps something, by its bound, long before.
            kinds = list(PATTERNS) if number == 0 else ["cr", "line"] if fidelity == "faithful" or more else ["comments", "comment-without-end", "cr", "line"]
            for kind in kinds:
                total = "10s" if kind in ("cr", "line") else "1s"
                name = f"{stack} {fidelity} {more.get('parser', '')}".strip() + f", {kind}"
                out = os.path.join(scene.folder, f"{number}-{kind}")
                path = scene.file(f"{number}-{kind}.json", json.dumps({
                    "name": name, "endpoint": {"url": f"http://127.0.0.1:{server.port}/{kind}", "api": "sse"},
                    "load": {"sessions": 1},
                    "client": {"stack": stack, "fidelity": fidelity, "limits": {"line": f"{LIMIT_KB}KiB", "event": f"{LIMIT_KB}KiB"},
                               "reconnect": {"policy": "none"},
                               "timeouts": {"total": total, "first_event": total}, **more},
                }))
                server.sent[kind] = 0
                peak = 0
                start = time.monotonic()
                with open(f"{out}.log", "w") as log:
                    process = subprocess.Popen([SSEBENCH, "run", path, "--out", out, "--quiet"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
                    scene.processes.append(process)
                    while process.poll() is None and time.monotonic() - start < 30:
                        with contextlib.suppress(OSError), open(f"/proc/{process.pid}/status") as status:
                            peak = max([peak] + [int(line.split()[1]) for line in status if line.startswith("VmHWM")])
                        time.sleep(0.01)
                    if process.poll() is None:
                        process.kill()
                        process.wait(timeout=10)
                        scene.expect(f"{name}: ends", False, "killed after 30 s, three times its time limit")
                        continue
                if not os.path.exists(f"{out}/summary.json"):
                    with open(f"{out}.log") as log:
                        scene.expect(f"{name}: runs", False, log.read())
                    continue
                run = Run(name, out, process.returncode)
                outcome = next(iter(run.errors()), "completed" if run.variant["sessions"]["completed"] else "cancelled")
                events = run.variant["events"]["count"]
                rows.append((name, outcome, events, server.sent[kind] >> 20, peak >> 10))
                if fidelity == "strict" and not more.get("parser") in ("eventsource", "lines"):
                    if kind in ("cr", "line"):
                        scene.expect(f"{name}: too_large", outcome == "too_large", (outcome, events, server.sent[kind]))
                    else:
                        scene.expect(f"{name}: ends by a bound or by its time", outcome in ("too_large", "timeout_total", "timeout_first_event", "truncated", "completed"),
                                     outcome)
                    # A delegate of URLSession cannot make the server wait: up to 64 MiB may stand in the client's own queue.
                    most = 64 if stack in ("curl", "raw") else 224
                    scene.expect(f"{name}: holds less than {most} MiB", peak < most * 1024, f"{peak >> 10} MiB")
        print("\n| client, stream | outcome | events | MiB sent | peak resident MiB |")
        print("| --- | --- | ---: | ---: | ---: |")
        for name, outcome, events, sent, peak in rows:
            print(f"| {name} | {outcome} | {events} | {sent} | {peak} |")
        print()
        scene.finish()


main()
