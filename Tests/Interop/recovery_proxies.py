"""A stream of the mock through nginx and through HAProxy, which cut it when it has been idle and when they are restarted.

The client follows the standard's policy: nothing may be lost or doubled, and the losses of connection are those that were
caused, no more and no fewer.
"""

import collections
import csv
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

from _packages import program

SSEBENCH = os.environ["SSEBENCH"]
SESSIONS = 100
problems = []

NGINX = """
worker_processes 2;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
daemon off;
{user}
events {{ worker_connections 2048; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} backlog=2048 reuseport;
    location / {{
      proxy_pass http://127.0.0.1:{mock}; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
      proxy_read_timeout 2s;
    }}
  }}
}}
"""

HAPROXY = """
global
  maxconn 4096
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 2s
  timeout tunnel 2s
  option http-server-close
frontend streams
  bind 127.0.0.1:{port} backlog 2048
  default_backend mock
backend mock
  server mock 127.0.0.1:{mock} maxconn 4096
"""


def expect(what, condition):
    print(f"  {'ok' if condition else 'NOT OK'}  {what}")
    if not condition:
        problems.append(what)


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Proxy:
    def __init__(self, name, folder, mock):
        self.name, self.port = name, free_port()
        path = f"{folder}/{name}.conf"
        with open(path, "w") as file:
            text = NGINX if name == "nginx" else HAPROXY
            file.write(text.format(folder=folder, port=self.port, mock=mock, user="user root;" if os.getuid() == 0 else ""))
        self.command = {
            "nginx": lambda: [program("nginx", "nginx-light"), "-p", folder, "-c", path],
            "haproxy": lambda: [program("haproxy", "haproxy"), "-db", "-f", path],
        }[name]()
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        sys.exit(f"{self.name} does not listen on its port")

    def end(self):
        # SIGTERM ends nginx at once; HAProxy ends at once with SIGTERM, and waits for its streams with SIGUSR1.
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(timeout=20)

    def restart(self):
        self.end()
        self.start()


def run(folder, name, mock_settings, events, stack, restart_at=None):
    """One run through one proxy: what the summary says, and the causes that recovery.csv names."""
    with open(f"{folder}/mock.json", "w") as file:
        json.dump({"api": "sse", "tokens": events, "first_token": "20ms", **mock_settings}, file)
    mock = subprocess.Popen([SSEBENCH, "mock", f"{folder}/mock.json"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    proxy = None
    out = f"{folder}/run-{time.monotonic_ns()}"
    try:
        port = json.loads(mock.stdout.readline())["listening"].rsplit(":", 1)[1]
        proxy = Proxy(name, folder, port)
        with open(f"{folder}/scenario.json", "w") as file:
            json.dump({
                "name": f"{name} {stack}",
                "endpoint": {"url": f"http://127.0.0.1:{proxy.port}/events?session=7", "api": "sse"},
                "load": {"model": "closed", "concurrency": SESSIONS, "sessions": SESSIONS}, "until": {"events": events},
                "verify": {"sequence": {"json": "ssebench.n"}, "first": 1, "expected": events,
                           "checksum": {"crc32c": "ssebench.crc", "of": "text"}},
                "client": {"stack": stack, "reconnect": {"policy": "whatwg", "retry": "1s"},
                           "timeouts": {"connect": "20s", "first_event": "40s", "idle": "40s", "total": "150s"}},
            }, file)
        process = subprocess.Popen(
            [SSEBENCH, "run", f"{folder}/scenario.json", "--out", out, "--quiet", "--yes"], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if restart_at:
            time.sleep(restart_at)
            proxy.restart()
        said, _ = process.communicate(timeout=200)
    finally:
        if proxy:
            proxy.end()
        mock.terminate()
        mock.wait(timeout=20)
    if not os.path.exists(f"{out}/summary.json"):
        sys.exit(f"no run: {said}")
    with open(f"{out}/summary.json") as file:
        variant = json.load(file)["variants"][0]
    with open(f"{out}/recovery.csv") as file:
        causes = collections.Counter(row["cause"] for row in csv.DictReader(file))
    return variant, dict(causes)


def judge(what, variant, causes, events, cuts):
    recovery, complete = variant["recovery"], variant["sessions"]["completed"]
    print(f"{what}: {complete} of {SESSIONS} complete, {recovery['disconnects']} disconnects {causes}, {recovery['reconnects']} reconnects, "
          f"{recovery['recovered']} recovered; expected {recovery['expected']}, delivered {recovery['delivered']}, lost {recovery['lost']}, "
          f"duplicated {recovery['duplicated']}, reordered {recovery['reordered']}, corrupted {recovery['corrupted']}; "
          f"recovery p50 {recovery['time_ms']['p50']} ms, p99 {recovery['time_ms']['p99']} ms")
    expect(f"{what}: all complete", complete == SESSIONS)
    expect(f"{what}: {events} events each, none lost, doubled, mixed up or damaged",
           recovery["expected"] == recovery["delivered"] == SESSIONS * events
           and not any(recovery[key] for key in ("lost", "undelivered", "duplicated", "reordered", "corrupted")))
    expect(f"{what}: {cuts} losses of connection each, {SESSIONS * cuts} in all, all recovered",
           recovery["disconnects"] == recovery["recovered"] == SESSIONS * cuts)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name in ("nginx", "haproxy"):
            for stack in ("raw", "curl"):
                # The mock makes an event each 4 s, whoever is there. 2 s after one the proxy cuts the silent stream, 1 s later the client
                # is back, and after another second comes the next event: one cut for each but the last, which ends the session.
                judge(f"{name}, {stack}, cut when idle", *run(folder, name, {"interval": "4s"}, 6, stack), 6, 5)
                # An event each 100 ms keeps the stream up for 20 s; the restart after 6 s cuts each of them once.
                judge(f"{name}, {stack}, restarted", *run(folder, name, {"interval": "100ms"}, 200, stack, restart_at=6), 200, 1)
    for problem in problems:
        print(f"failed: {problem}")
    print(f"recovery_proxies: {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
