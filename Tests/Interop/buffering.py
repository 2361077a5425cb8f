#!/usr/bin/env python3
"""Is it streaming at all? nginx that really buffers is called `buffered`, with its remedy, in summary.json and report.md.

nginx holds back what ends by closing (HTTP/1.0 to the upstream, its default) and what it compresses with its buffers on.
The same with buffering off is healthy, and so must 20 runs of healthy paths be (HEALTHY_RUNS changes their number). Each
path is looked at with curl first: what a proxy does depends on its version.
"""

import os

from _paths import CHAT, Scene, free_ports, program, skip

TOKENS = 150
HEALTHY_RUNS = int(os.environ.get("HEALTHY_RUNS", "20"))
SESSIONS = 20

NGINX = """
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
daemon off;
{user}
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
  upstream mock {{ server 127.0.0.1:{mock}; keepalive 256; }}
  proxy_buffer_size 64k; proxy_buffers 8 64k; proxy_busy_buffers_size 128k;
  gzip_types text/event-stream; gzip_proxied any; gzip_min_length 0;
  server {{
    listen 127.0.0.1:{plain}; listen 127.0.0.1:{tls} ssl http2;
    # The answer ends by its close.
    location /closes/on/ {{ proxy_pass http://mock/; proxy_buffering on; }}
    location /small/ {{ proxy_buffer_size 4k; proxy_buffers 8 4k; proxy_busy_buffers_size 8k; proxy_pass http://mock/; }}
    location /closes/off/ {{ proxy_pass http://mock/; proxy_buffering off; }}
    location /chunks/on/ {{ proxy_pass http://mock/; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering on; }}
    location /chunks/off/ {{ proxy_pass http://mock/; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }}
    location /gzip/on/ {{ gzip on; proxy_pass http://mock/; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering on; }}
    location /gzip/off/ {{ gzip on; proxy_pass http://mock/; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }}
  }}
}}
"""


def main():
    nginx = program("nginx")
    if not nginx:
        skip("nginx is not installed, nor can it be here")
    with Scene() as scene:
        expect = scene.expect
        scene.certificate()
        mock = scene.mock(api="openai-chat", tokens=TOKENS, first_token="100ms", interval="10ms")
        plain, tls = free_ports(2)
        scene.file("nginx.conf", NGINX.format(folder=scene.folder, mock=mock, plain=plain, tls=tls,
                                              user="user root;" if os.getuid() == 0 else ""))
        scene.start([nginx, "-p", scene.folder, "-c", f"{scene.folder}/nginx.conf"])
        scene.wait_for(plain)
        bases = {"1.1": f"http://127.0.0.1:{plain}", "2": f"https://127.0.0.1:{tls}"}
        load = {"sessions": SESSIONS, "concurrency": SESSIONS}

        def run(name, url, http, headers=None, quiet=False):
            result = scene.run(name, {"url": url, "http": http, "headers": headers or {}}, load, expected=TOKENS + 2)
            v = result.variant
            if not quiet:
                print(f"{result.line()} fake {v['streaming']['fake_ratio']}, {v['reads']['events_per_read']} events a read")
            expect(f"{name}: all complete, nothing lost", v["sessions"]["completed"] == SESSIONS and v["recovery"]["lost"] == 0,
                   (result.errors(), v["recovery"]))
            return result

        # The healthy paths are run between the others, so that both see the same machine.
        direct = f"http://127.0.0.1:{mock}"
        healthy = [
            ("no proxy", f"{direct}{CHAT}", "1.1", None),
            ("HTTP/1.1, buffering off", f"{bases['1.1']}/closes/off{CHAT}", "1.1", None),
            ("HTTP/2, buffering off", f"{bases['2']}/closes/off{CHAT}", "2", None),
            ("HTTP/1.1, chunks", f"{bases['1.1']}/chunks/off{CHAT}", "1.1", None),
            ("HTTP/2, chunks", f"{bases['2']}/chunks/off{CHAT}", "2", None),
            ("HTTP/1.1, gzip, buffering off", f"{bases['1.1']}/gzip/off{CHAT}", "1.1", {"Accept-Encoding": "gzip"}),
            ("HTTP/2, gzip, buffering off", f"{bases['2']}/gzip/off{CHAT}", "2", {"Accept-Encoding": "gzip"}),
            ("HTTP/1.1, gzip not asked for", f"{bases['1.1']}/gzip/on{CHAT}", "1.1", None),
        ]
        found = held = 0
        for kind in ("closes", "gzip"):
            for http in ("1.1", "2"):
                headers = {"Accept-Encoding": "gzip"} if kind == "gzip" else {}
                more = [f"--http{http}"] + (["-H", "Accept-Encoding: gzip"] if headers else [])
                name = f"{'gzip' if kind == 'gzip' else 'an answer that ends by closing'}, HTTP/{http}"
                half, total, _ = scene.curl(f"{bases[http]}/{kind}/on{CHAT}", *more, tokens=TOKENS)
                if half < 0.8 * total:
                    print(f"this nginx does not hold back {name}: nothing to find there")
                    continue
                held += 1
                buffered = run(f"{name}, buffering on", f"{bases[http]}/{kind}/on{CHAT}", http, headers)
                warning = buffered.warning("buffered")
                if expect(f"{name}: called buffered", warning is not None, buffered.codes):
                    found += 1
                    print(f"  {warning['message']} -> {warning['hint']}")
                    expect(f"{name}: the warning names the remedy", "proxy_buffering" in warning["hint"] and "gzip" in warning["hint"], warning)
                    report = buffered.report()
                    expect(f"{name}: report.md has it, with the remedy", "`buffered`" in report and "proxy_buffering" in report)
        print(f"{found} of {held} paths that buffer were found")

        # The mock's own: all at the end, in one write, and most of it in one.
        for name, settings in [
            ("all at the end, as fast as it goes", {"first_token": "1s", "interval": "0ms"}),
            ("150 events in one write", {"first_token": "100ms", "interval": "10ms", "events_per_write": 200}),
            ("100 of 150 events in one write", {"first_token": "100ms", "interval": "10ms", "events_per_write": 100}),
        ]:
            port = scene.mock(api="openai-chat", tokens=TOKENS, **settings)
            burst = run(f"the mock: {name}", f"http://127.0.0.1:{port}{CHAT}", "1.1")
            print("  largest burst", max(int(row["largest_burst"]) for row in burst.rows()), "of", TOKENS)
            expect(f"the mock: {name}: called buffered", "buffered" in burst.codes, burst.codes)

        # Proxies that let the stream pass in bursts of some events: figures; the warning speaks of one piece only.
        bursts = [("nginx with small buffers", f"{bases['1.1']}/small{CHAT}")]
        haproxy = program("haproxy")
        if haproxy:
            port = free_ports(1)[0]
            # Without `option http-no-delay` HAProxy corks what it sends over HTTP/1.1, for 200 ms.
            scene.file("haproxy.cfg", f"defaults\n  mode http\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n"
                       f"frontend f\n  bind 127.0.0.1:{port}\n  default_backend b\nbackend b\n  server mock 127.0.0.1:{mock}\n")
            scene.start([haproxy, "-db", "-q", "-f", f"{scene.folder}/haproxy.cfg"])
            scene.wait_for(port)
            bursts.append(("HAProxy without http-no-delay", f"http://127.0.0.1:{port}{CHAT}"))
        for name, url in bursts:
            scene.curl(url, tokens=TOKENS)
            burst = run(name, url, "1.1")
            print(f"  largest burst {max(int(row['largest_burst']) for row in burst.rows())} of {TOKENS}, "
                  f"called buffered: {'buffered' in burst.codes}")

        alarms = 0
        for number in range(HEALTHY_RUNS):
            name, url, http, headers = healthy[number % len(healthy)]
            if number < len(healthy):
                more = [f"--http{http}"] + (["-H", "Accept-Encoding: gzip"] if headers else [])
                half, total, _ = scene.curl(url, *more, tokens=TOKENS)
                expect(f"{name}: curl sees a stream", half < 0.7 * total, (half, total))
            result = run(f"healthy {number}: {name}", url, http, headers)
            alarms += "buffered" in result.codes
            expect(f"healthy {number}: {name}: no alarm", "buffered" not in result.codes, result.warning("buffered"))
        print(f"{alarms} false alarms in {HEALTHY_RUNS} runs of healthy paths")
        scene.finish()


main()
