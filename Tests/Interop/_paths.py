# What the scripts about paths share: programs, certificates, ports, processes, runs of ssebench. Not a test itself.

import contextlib
import csv
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
os.environ.setdefault("SSEBENCH", os.path.join(HERE, "../../.build/release/ssebench"))
SSEBENCH = os.environ["SSEBENCH"]
CHAT = "/v1/chat/completions"

for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
    os.environ.pop(name, None)


# A time limit from outside ends what was started too.
signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a time limit"))


def program(name, package=None):
    """The path of a program, installed from Debian's packages where it is missing and we are root; else None."""
    search = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
    found = shutil.which(name, path=search)
    if found or os.getuid() != 0 or not shutil.which("apt-get"):
        return found
    # RUNLEVEL: the package's own service is not to be started.
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive", RUNLEVEL="1")
    for command in (["apt-get", "install", "-y", "-qq", "--no-install-recommends", package or name],
                    ["apt-get", "update", "-qq"],
                    ["apt-get", "install", "-y", "-qq", "--no-install-recommends", package or name]):
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=180)
        found = shutil.which(name, path=search)
        if found:
            break
    return found


def skip(reason):
    print(reason)
    sys.exit(77)


def free_ports(count, address="127.0.0.1"):
    sockets = [socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) for _ in range(count)]
    for one in sockets:
        one.bind((address, 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def has_ipv6():
    try:
        free_ports(1, "::1")
        return True
    except OSError:
        return False


class Scene:
    """A folder, the processes started in it, and what was expected. Leave by `with`: everything started ends."""

    def __init__(self):
        self.folder = tempfile.mkdtemp()
        self.processes = []
        self.problems = []
        self.runs = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(timeout=20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait(timeout=20)
        if os.environ.get("KEEP_RUNS"):
            print(f"kept: {self.folder}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def expect(self, what, condition, found=None):
        print(f"{'ok' if condition else 'NOT OK'}  {what}" + ("" if condition or found is None else f": found {found}"), flush=True)
        if not condition:
            self.problems.append(what)
        return condition

    def finish(self):
        for problem in self.problems:
            print(f"failed: {problem}")
        sys.exit(1 if self.problems else 0)

    def file(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def certificate(self):
        """A self-signed one for loopback: cert.pem, key.pem and both in both.pem."""
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=IP:127.0.0.1,IP:::1,DNS:localhost", "-keyout", f"{self.folder}/key.pem",
             "-out", f"{self.folder}/cert.pem"],
            check=True, capture_output=True, timeout=60)
        with open(f"{self.folder}/cert.pem") as cert, open(f"{self.folder}/key.pem") as key:
            self.file("both.pem", cert.read() + key.read())
        return f"{self.folder}/cert.pem"

    def start(self, command, **more):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, **more)
        self.processes.append(process)
        return process

    def mock(self, listen="127.0.0.1:0", **settings):
        """The port of a mock with these settings (those of a scenario's endpoint.mock)."""
        path = self.file(f"mock-{len(self.processes)}.json", json.dumps(settings))
        process = self.start([SSEBENCH, "mock", path, "--listen", listen], stdout=subprocess.PIPE, text=True)
        return int(json.loads(process.stdout.readline())["listening"].rsplit(":", 1)[1])

    def wait_for(self, port, address="127.0.0.1"):
        for _ in range(200):
            with contextlib.suppress(OSError):
                socket.create_connection((address, port), timeout=2).close()
                return
            time.sleep(0.05)
        sys.exit(f"nothing answers on port {port}")

    def curl(self, url, *more, tokens=100):
        """Seconds until half of the body was there and until its end, and the body's size: one streamed chat answer as
        curl sees it. (curl's own time to the first byte counts HTTP/2's settings as one.)"""
        body = json.dumps({"model": "m", "stream": True, "max_tokens": tokens,
                           "messages": [{"role": "user", "content": "x"}]})
        arrivals, size, start = [], 0, time.monotonic()
        process = subprocess.Popen(
            ["curl", "-s", "-g", "-N", "--cacert", f"{self.folder}/cert.pem", "-H", "Content-Type: application/json",
             "-d", body, "--max-time", "60", *more, url], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        with process.stdout as out:
            while data := os.read(out.fileno(), 65536):
                size += len(data)
                arrivals.append((time.monotonic() - start, size))
        process.wait(timeout=60)
        half = next((at for at, count in arrivals if 2 * count >= size), 0)
        end = arrivals[-1][0] if arrivals else 0
        print(f"curl {' '.join(more)}: half of {size} bytes after {half:.3f} s of {end:.3f} s, in {len(arrivals)} reads", flush=True)
        return half, end, size

    def run(self, name, endpoint, load=None, client=None, request=None, expected=None, limit=280, **more):
        """One run of one variant; what it wrote. `expected`: numbered events of a session (chat: tokens + 2)."""
        endpoint = dict({"api": "openai-chat"}, **endpoint)
        if endpoint.get("url", "").startswith("https") and "tls" not in endpoint:
            endpoint["tls"] = {"ca": f"{self.folder}/cert.pem"}
        scenario = dict({"name": name, "endpoint": endpoint, "load": load or {"sessions": 20, "concurrency": 10},
                         "client": client or {}}, **more)
        if expected and "verify" not in scenario:
            scenario["verify"] = {"sequence": {"json": "ssebench.n"}, "first": 1, "expected": expected}
        if endpoint["api"] != "sse":
            scenario["request"] = request or {"model": "mock-1"}
        return self.run_file(name, self.file(f"scenario-{self.runs}.json", json.dumps(scenario)), limit=limit)

    def run_file(self, name, path, *flags, limit=280):
        out = os.path.join(self.folder, f"run-{self.runs}")
        self.runs += 1
        result = subprocess.run([SSEBENCH, "run", path, "--out", out, "--quiet", *flags], capture_output=True, text=True,
                                timeout=limit, stdin=subprocess.DEVNULL)
        if not os.path.exists(f"{out}/summary.json"):
            sys.exit(f"{name}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
        return Run(name, out, result.returncode)


class Run:
    def __init__(self, name, out, code):
        self.name, self.out, self.code = name, out, code
        with open(f"{out}/summary.json") as file:
            self.summary = json.load(file)
        self.variants = self.summary["variants"]
        self.variant = self.variants[0]
        self.codes = [w["code"] for w in self.summary["warnings"] if w["code"] != "sample_too_small"]

    def warning(self, code):
        return next((w for w in self.summary["warnings"] if w["code"] == code), None)

    def rows(self):
        with open(f"{self.out}/sessions.csv", newline="") as file:
            return list(csv.DictReader(file))

    def report(self):
        with open(f"{self.out}/report.md") as file:
            return file.read()

    def errors(self):
        return {kind: count for kind, count in self.variant["errors"].items() if count}

    def mean(self, key):
        return self.variant[key]["mean"] or 0

    def line(self):
        v = self.variant
        recovery = v["recovery"] or {"lost": "-", "corrupted": "-"}
        return (f"{self.name}: {v['sessions']['completed']} of {v['sessions']['started']} completed {self.errors() or ''}, "
                f"lost {recovery['lost']}, corrupted {recovery['corrupted']}, connections {v['connections']['new']} new "
                f"{v['connections']['reused']} reused, connect {self.mean('connect_ms'):.2f} ms, tls {self.mean('tls_ms'):.2f} ms, "
                f"ttft {self.mean('ttft_ms'):.1f} ms, itl {self.mean('itl_ms'):.2f} ms, e2e {self.mean('e2e_ms'):.1f} ms, "
                f"{v['instrument']['cpu_s_per_million_events'] or 0:.0f} CPU µs an event {[c for c in self.codes]}")
