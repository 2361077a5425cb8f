#!/usr/bin/env python3
"""A relay between ssebench and the mock that delays, throttles, stalls and cuts: each shows where it should, nowhere else.

It stands for `tc netem`, which not every kernel has. Delays are one-way, so that a round trip takes two of them.
"""

import asyncio
import contextlib
import os
import socket
import struct
import threading

from _paths import CHAT, Scene, free_ports, program

TOKENS = 60
FIRST_MS, GAP_MS = 100, 10
SESSIONS = 20


class Relay:
    """Listens on a free port and passes on to the mock; a thread with a loop of its own, until `close`."""

    def __init__(self, target, delay=0.0, rate=None, cut=None, reset=False, stall=None, first=0.0):
        self.target, self.delay, self.rate, self.cut, self.reset, self.stall, self.first = target, delay, rate, cut, reset, stall, first
        self.connections = self.cuts = 0
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()

        async def serve():
            self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
            self.port = self.server.sockets[0].getsockname()[1]
            ready.set()

        def body():
            asyncio.set_event_loop(self.loop)
            self.loop.run_until_complete(serve())
            self.loop.run_forever()

        self.thread = threading.Thread(target=body, daemon=True)
        self.thread.start()
        ready.wait(10)

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)

    async def serve(self, reader, writer):
        self.connections += 1
        number = self.connections
        up_writer = None
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.target)
            for one in (writer, up_writer):
                one.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            tasks = [asyncio.create_task(self.pump(reader, up_writer, self.first, None, None)),
                     asyncio.create_task(self.pump(up_reader, writer, 0, self.rate, number))]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED, timeout=120)
            for task in tasks:
                task.cancel()
        except OSError:
            pass
        finally:
            for one in (writer, up_writer):
                if one:
                    with contextlib.suppress(Exception):
                        one.close()

    async def pump(self, reader, writer, first, rate, number):
        """What is read is written `delay` later, however late the one before it was; so a delay is no throttle."""
        queue = asyncio.Queue()
        loop = asyncio.get_running_loop()

        async def read():
            late = first
            while True:
                data = await reader.read(65536)
                await queue.put((loop.time() + self.delay + late, data))
                late = 0
                if not data:
                    return

        reading = asyncio.create_task(read())
        passed = stalled = 0
        try:
            while True:
                due, data = await queue.get()
                await asyncio.sleep(max(0, due - loop.time()))
                if not data:
                    return
                piece = max(1, int(rate * 0.01)) if rate else len(data)
                for start in range(0, len(data), piece):
                    part = data[start:start + piece]
                    # Only the first connections are cut: `cut` is (after how many bytes, how many connections).
                    if number and self.cut and number <= self.cut[1] and passed + len(part) >= self.cut[0]:
                        writer.write(part[:self.cut[0] - passed])
                        await writer.drain()
                        self.cuts += 1
                        if self.reset:
                            await asyncio.sleep(0.05)
                            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                            writer.transport.abort()
                        return
                    if number and self.stall and passed >= self.stall[0] * (stalled + 1):
                        stalled += 1
                        await asyncio.sleep(self.stall[1])
                    writer.write(part)
                    passed += len(part)
                    await writer.drain()
                    if rate:
                        await asyncio.sleep(len(part) / rate)
        finally:
            reading.cancel()


@contextlib.contextmanager
def relay(*arguments, **more):
    one = Relay(*arguments, **more)
    try:
        yield one
    finally:
        one.close()


def chat(port):
    return {"url": f"http://127.0.0.1:{port}{CHAT}"}


def main():
    with Scene() as scene:
        expect = scene.expect
        mock = scene.mock(api="openai-chat", tokens=TOKENS, first_token=f"{FIRST_MS}ms", interval=f"{GAP_MS}ms")
        load = {"sessions": SESSIONS, "concurrency": SESSIONS, "ramp_up": "500ms"}

        def run(name, endpoint, **more):
            result = scene.run(name, endpoint, more.pop("load", load), expected=more.pop("expected", TOKENS + 2), **more)
            print(result.line())
            return result

        with relay(mock) as way:
            plain = run("relay, as it is", chat(way.port))
        expect("as it is: all complete, nothing lost", plain.variant["sessions"]["completed"] == SESSIONS
               and plain.variant["recovery"]["lost"] == 0, plain.errors())

        # A delay of 50 ms each way: once for the request, once for the answer; the gaps stay.
        with relay(mock, delay=0.05) as way:
            slow = run("+50 ms each way", chat(way.port))
        # The smallest of each: on a busy machine the others hold what the machine added.
        added = {key: slow.variant[key]["min"] - plain.variant[key]["min"] for key in ("ttfb_ms", "ttft_ms", "e2e_ms")}
        print("added to the smallest, ms:", {key: round(value, 2) for key, value in added.items()},
              "to the mean gap:", round(slow.mean("itl_ms") - plain.mean("itl_ms"), 3))
        expect("a delay: all complete, nothing lost", slow.variant["sessions"]["completed"] == SESSIONS
               and slow.variant["recovery"]["lost"] == 0, slow.errors())
        for key in ("ttfb_ms", "ttft_ms", "e2e_ms"):
            expect(f"a delay of 50 ms each way adds 100 ms to {key}", 90 <= added[key] <= 130, added[key])
        expect("a delay does not show between tokens", abs(slow.mean("itl_ms") - plain.mean("itl_ms")) < 1,
               (slow.mean("itl_ms"), plain.mean("itl_ms")))
        expect("a delay is not buffering", "buffered" not in slow.codes, slow.codes)

        # A narrow path: 60 tokens of some 245 bytes at 10 kB/s.
        with relay(mock, rate=10_000) as way:
            narrow = run("10 kB/s", chat(way.port))
        size = narrow.variant["bytes"]["count"] / SESSIONS
        wanted = size / 10_000 * 1000
        print(f"{size:.0f} bytes a session: {wanted:.0f} ms at that rate")
        expect("a throttle: all complete, nothing lost", narrow.variant["sessions"]["completed"] == SESSIONS
               and narrow.variant["recovery"]["lost"] == 0, narrow.errors())
        expect("a throttle shows in e2e", 0.95 * wanted <= narrow.variant["e2e_ms"]["p50"] <= 2 * wanted + FIRST_MS, narrow.variant["e2e_ms"])
        expect("a throttle shows between tokens", narrow.mean("itl_ms") > 1.8 * plain.mean("itl_ms"),
               (narrow.mean("itl_ms"), plain.mean("itl_ms")))
        expect("a throttle hardly shows in TTFT", narrow.variant["ttft_ms"]["min"] - plain.variant["ttft_ms"]["min"] < 60,
               narrow.variant["ttft_ms"])
        expect("a throttle is not buffering", "buffered" not in narrow.codes, narrow.codes)

        # Losses as TCP shows them: now and then nothing for 200 ms, then what was held.
        with relay(mock, stall=(5000, 0.2)) as way:
            lossy = run("stalls of 200 ms", chat(way.port), measure={"stall": "150ms"})
        expect("stalls: all complete, nothing lost", lossy.variant["sessions"]["completed"] == SESSIONS
               and lossy.variant["recovery"]["lost"] == 0, lossy.errors())
        expect("stalls show in the longest gap", lossy.variant["max_gap_ms"]["min"] >= 180, lossy.variant["max_gap_ms"])
        expect("and are counted", lossy.variant["streaming"]["stalls"] >= SESSIONS, lossy.variant["streaming"])
        expect("stalls do not show in TTFT", lossy.variant["ttft_ms"]["min"] - plain.variant["ttft_ms"]["min"] < 50, lossy.variant["ttft_ms"])
        expect("stalls are not buffering", "buffered" not in lossy.codes, lossy.codes)

        # A cut stream of an LLM API is truncated, by FIN or by RST; asked again from the start, it completes.
        for name, reset in (("FIN", False), ("RST", True)):
            with relay(mock, cut=(6000, 1_000_000), reset=reset) as way:
                cut = run(f"cut by {name}", chat(way.port))
            expect(f"cut by {name}: every session fails for it",
                   cut.variant["errors"]["reset" if reset else "truncated"] == SESSIONS, cut.errors())
            expect(f"cut by {name}: the tail is undelivered, not lost", cut.variant["recovery"]["lost"] == 0, cut.variant["recovery"])
            expect(f"cut by {name}: warned about", ("errors_seen" if reset else "truncated_streams") in cut.codes, cut.codes)
        with relay(mock, cut=(6000, SESSIONS)) as way:
            again = run("cut, asked again from the start", chat(way.port),
                        client={"reconnect": {"policy": "restart", "base": "50ms", "jitter": 0}}, load={"sessions": SESSIONS})
        recovery = again.variant["recovery"]
        print("restart:", {key: value for key, value in recovery.items() if not isinstance(value, dict)})
        expect("asked again: all complete", again.variant["sessions"]["completed"] == SESSIONS, again.errors())
        expect("asked again: tokens sent twice are counted", recovery["restarted_tokens"] > 0 and recovery["recovered"] == SESSIONS, recovery)

        # A plain stream resumes by Last-Event-ID, whichever side of an event the cut falls on.
        events = scene.mock(api="sse", tokens=TOKENS, first_token="20ms", interval=f"{GAP_MS}ms")
        for where in (1500, 3001, 3002, 3003):
            with relay(events, cut=(where, SESSIONS), reset=where % 2 == 0) as way:
                name = f"cut after {where} bytes by {'RST' if where % 2 == 0 else 'FIN'}, resumed"
                resumed = run(name, {"url": f"http://127.0.0.1:{way.port}/events?events={TOKENS}&interval={GAP_MS}ms&first=20ms", "api": "sse"},
                              client={"reconnect": {"policy": "whatwg", "retry": "50ms"}}, load={"sessions": SESSIONS}, expected=TOKENS)
                recovery = resumed.variant["recovery"]
                print({key: value for key, value in recovery.items() if not isinstance(value, dict)}, "time_ms", recovery["time_ms"]["p50"])
                expect(f"{name}: complete", resumed.variant["sessions"]["completed"] == SESSIONS, (resumed.variant["sessions"], resumed.errors()))
                expect(f"{name}: recovered, nothing lost or doubled", recovery["recovered"] == way.cuts == SESSIONS
                       and recovery["lost"] + recovery["duplicated"] + recovery["corrupted"] + recovery["reordered"] == 0
                       and recovery["delivered"] == SESSIONS * TOKENS, recovery)

        # A slow handshake is seen in tls_ms, not in TTFT: the relay holds the first bytes of the client for 300 ms.
        nginx = program("nginx")
        if nginx:
            scene.certificate()
            port = free_ports(1)[0]
            scene.file("nginx.conf", f"""
worker_processes 1; pid {scene.folder}/nginx.pid; error_log {scene.folder}/error.log; daemon off;
{"user root;" if os.getuid() == 0 else ""}
events {{ worker_connections 1024; }}
http {{
  access_log off; client_body_temp_path {scene.folder}/body; proxy_temp_path {scene.folder}/proxy;
  fastcgi_temp_path {scene.folder}/fastcgi; uwsgi_temp_path {scene.folder}/uwsgi; scgi_temp_path {scene.folder}/scgi;
  ssl_certificate {scene.folder}/cert.pem; ssl_certificate_key {scene.folder}/key.pem;
  server {{
    listen 127.0.0.1:{port} ssl http2;
    location / {{ proxy_pass http://127.0.0.1:{mock}; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }}
  }}
}}
""")
            scene.start([nginx, "-p", scene.folder, "-c", f"{scene.folder}/nginx.conf"])
            scene.wait_for(port)
            for http in ("1.1", "2"):
                with relay(port, first=0.3) as way:
                    late = run(f"a slow handshake, HTTP/{http}", {"url": f"https://127.0.0.1:{way.port}{CHAT}", "http": http})
                expect(f"a slow handshake, HTTP/{http}: all complete", late.variant["sessions"]["completed"] == SESSIONS, late.errors())
                expect(f"a slow handshake, HTTP/{http}: shows in tls_ms", late.variant["tls_ms"]["min"] >= 295, late.variant["tls_ms"])
                expect(f"a slow handshake, HTTP/{http}: not in TTFT", late.variant["ttft_ms"]["min"] < FIRST_MS + 100, late.variant["ttft_ms"])
                expect(f"a slow handshake, HTTP/{http}: not in connect_ms", late.mean("connect_ms") < 150, late.variant["connect_ms"])
                expect(f"a slow handshake, HTTP/{http}: in what counts from the start",
                       late.variant["from_scheduled"]["ttft_ms"]["max"] >= FIRST_MS + 295, late.variant["from_scheduled"]["ttft_ms"])
        else:
            print("not shown: a slow TLS handshake, nginx is not installed")
        scene.finish()


main()
