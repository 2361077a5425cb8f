"""Servers that go away and never come back: each run must end by its limits, say how many sessions never recovered, and
leave with the exit code that its gates ask for. The mock goes down, a server's port closes, a server stops answering.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

SSEBENCH = os.environ["SSEBENCH"]
problems = []


def expect(what, condition):
    print(f"  {'ok' if condition else 'NOT OK'}  {what}")
    if not condition:
        problems.append(what)


class Server:
    """Sends each client numbered events until told to go; then the port is closed, or open and silent."""

    def __init__(self, seconds, then):
        self.then, self.gone, self.clients = then, threading.Event(), []
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/"
        self.seconds = seconds
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        ends = time.monotonic() + self.seconds
        self.socket.settimeout(0.02)
        number = 0
        while time.monotonic() < ends:
            with contextlib.suppress(TimeoutError):
                while True:
                    client, _ = self.socket.accept()
                    client.recv(65536)
                    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nretry: 100\n\n")
                    self.clients.append(client)
            number += 1
            for client in self.clients:
                client.sendall(f"id: {number}\ndata: {number}\n\n".encode())
        if self.then == "closed":
            self.socket.close()
        for client in self.clients:
            client.close()
        self.gone.set()

    def end(self):
        self.thread.join(self.seconds + 10)
        self.socket.close()


def run(folder, name, endpoint, load, reconnect, gates, timeouts, until=None):
    path, out = f"{folder}/{name}.json", f"{folder}/{name}"
    scenario = {
        "name": name, "endpoint": endpoint, "load": load, "gates": gates,
        "client": {"stack": "raw", "reconnect": reconnect, "timeouts": timeouts}}
    if until:
        scenario["until"] = until
    if "url" in endpoint:
        scenario["verify"] = {"sequence": "id"}
    with open(path, "w") as file:
        json.dump(scenario, file)
    begin = time.monotonic()
    done = subprocess.run(
        [SSEBENCH, "run", path, "--out", out, "--quiet"], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    took = time.monotonic() - begin
    if not os.path.exists(f"{out}/summary.json"):
        sys.exit(f"no run: {done.stdout}{done.stderr}")
    with open(f"{out}/summary.json") as file:
        summary = json.load(file)
    variant = summary["variants"][0]
    sessions, recovery = variant["sessions"], variant["recovery"]
    errors = {kind: count for kind, count in variant["errors"].items() if count}
    print(f"{name}: took {took:.1f} s, exit {done.returncode} ({summary['verdict']}), {sessions['completed']} complete, {sessions['failed']} failed "
          f"{errors}, {sessions['cancelled']} cancelled; {recovery['disconnects']} disconnects, {recovery['reconnects']} reconnects, "
          f"{recovery['recovered']} recovered, never recovered {recovery['never_recovered']}, lost {recovery['lost']}, undelivered {recovery['undelivered']}")
    report = open(f"{out}/report.md").read()
    expect(f"{name}: the report says it", "never_recovered" in report)
    failed_gates = [gate["expression"] for gate in summary["gates"] if gate["held"] is not True]
    if summary["verdict"] == "invalid":
        # A machine that is too busy to be believed says so first; what the gates say is then in the summary alone.
        print(f"    the machine was too busy: {summary['verdict_reasons']}")
        by_gates = 1 if failed_gates or sessions["completed"] == 0 else 0
        expect(f"{name}: exit 3 for it", done.returncode == 3)
    else:
        by_gates = done.returncode
    return by_gates, took, sessions, recovery, errors, report


def main():
    streams = {"model": "closed", "concurrency": 100, "sessions": 100}
    down = {"mock": {"api": "sse", "tokens": 1000, "first_token": "50ms", "interval": "50ms",
                     "faults": [{"kind": "down", "at": {"run_time": "2s"}}]}}
    with tempfile.TemporaryDirectory() as folder:
        # Backoff gives up after its tries.
        code, took, sessions, recovery, errors, report = run(
            folder, "mock-backoff", down, streams, {"policy": "backoff", "base": "100ms", "tries": 4, "jitter": 0},
            ["recovery.never_recovered == 0"], {"total": "60s"})
        expect("mock-backoff: all 100 never recovered", recovery["never_recovered"] == 100 and sessions["failed"] == 100)
        expect("mock-backoff: ended after its tries, far below the total", took < 20)
        # 4 tries in a row, counted from the loss: 100 + 200 + 400 + 800 ms.
        expect("mock-backoff: 4 tries each", recovery["reconnects"] == 400 and recovery["disconnects"] == 100)
        expect("mock-backoff: the gate decides", code == 1)
        expect("mock-backoff: what had not come is undelivered, not lost", recovery["lost"] == 0)
        expect("mock-backoff: the worst sessions are spelled out", "--seed 42 --session" in report)

        # The standard's policy tries for ever: the session's own limit ends it.
        code, took, sessions, recovery, errors, _ = run(
            folder, "mock-whatwg", down, streams, {"policy": "whatwg", "retry": "200ms"}, [], {"total": "6s"})
        expect("mock-whatwg: all 100 never recovered", recovery["never_recovered"] == 100 and errors == {"timeout_total": 100})
        expect("mock-whatwg: ended by client.timeouts.total", took < 20)
        expect("mock-whatwg: no session completed", code == 1)

        # Some are done before: gates that hold let the run pass.
        code, took, sessions, recovery, errors, _ = run(
            folder, "gates-hold", {"mock": {**down["mock"], "tokens": {"uniform": [5, 100]}}}, streams,
            {"policy": "backoff", "base": "100ms", "tries": 3}, ["recovery.never_recovered <= 100", "sessions.completed > 0"], {"total": "60s"})
        expect("gates-hold: each is either complete or never recovered",
               sessions["completed"] + recovery["never_recovered"] == 100 and 0 < sessions["completed"] < 100)
        expect("gates-hold: exit 0", code == 0)

        # The port is closed for ever.
        server = Server(2, "closed")
        code, took, sessions, recovery, errors, _ = run(
            folder, "port-closed", {"url": server.url, "api": "sse"}, {**streams, "concurrency": 40, "sessions": 40}, {"policy": "backoff", "base": "100ms", "tries": 3},
            ["recovery.never_recovered == 0"], {"total": "60s"}, until={"events": 1_000_000})
        server.end()
        expect("port-closed: all 40 never recovered", recovery["never_recovered"] == 40 and errors == {"refused": 40})
        expect("port-closed: the gate decides", code == 1 and took < 20)

        # The port stays open, and nobody is there: the limit of the run's time ends what waits.
        server = Server(2, "silent")
        code, took, sessions, recovery, errors, _ = run(
            folder, "silent", {"url": server.url, "api": "sse"}, {"model": "closed", "concurrency": 40, "duration": "4s", "drain": "1s"},
            {"policy": "whatwg"}, ["recovery.never_recovered == 0"], {"total": "60s"}, until={"events": 1_000_000})
        server.end()
        expect("silent: all 40 never recovered, cancelled at the end of the drain",
               recovery["never_recovered"] == 40 and sessions["cancelled"] == 40)
        expect("silent: ended by load.duration and load.drain", 4.5 < took < 20)
        expect("silent: the gate decides", code == 1)
    for problem in problems:
        print(f"failed: {problem}")
    print(f"recovery_down: {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
