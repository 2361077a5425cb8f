#!/usr/bin/env python3
"""A relay between ssebench and the mock that delays, throttles, stalls and cuts: each shows where it should, nowhere else.

It stands for `tc netem`, which not every kernel has. Delays are one-way, so that a round trip takes two of them.
"""

import os

from _paths import CHAT, Scene, free_ports, program
from _relay import relay

TOKENS = 60
FIRST_MS, GAP_MS = 100, 10
SESSIONS = 20


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
