#!/usr/bin/env python3
"""1,000 sessions over HTTP/2 and TLS on few connections, to h2o and to nginx in front of the mock.

All complete, nothing is lost; what an event costs is printed beside HTTP/1.1 over TLS and HTTP/1.1 in the open, for the
same load. The kinds alternate, ROUNDS times (default 2).
"""

import os
import resource

from _paths import CHAT, Scene, free_ports, program, skip
from _relay import relay

SESSIONS = int(os.environ.get("SESSIONS", "1000"))
ROUNDS = int(os.environ.get("ROUNDS", "2"))
TOKENS, GAP_MS, FIRST_MS = 20, 200, 200

NGINX = """
worker_processes 1;
worker_rlimit_nofile 16384;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
daemon off;
{user}
events {{ worker_connections 8192; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
  upstream mock {{ server 127.0.0.1:{mock}; keepalive 2048; keepalive_requests 100000; }}
  keepalive_requests 100000;
  http2_max_concurrent_streams 512;
  server {{
    listen 127.0.0.1:{plain} backlog=2048; listen 127.0.0.1:{tls} ssl http2 backlog=2048;
    location / {{ proxy_pass http://mock; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }}
  }}
}}
"""

H2O = """
{user}
num-threads: 1
max-connections: 8192
pid-file: {folder}/h2o.pid
error-log: {folder}/h2o-errors.log
access-log: /dev/null
http2-max-concurrent-requests-per-connection: 512
http2-idle-timeout: 60
handshake-timeout: 60
http1-request-timeout: 60
hosts:
  default:
    listen: {{ host: 127.0.0.1, port: {plain} }}
    listen: {{ host: 127.0.0.1, port: {tls}, ssl: {{ certificate-file: {folder}/cert.pem, key-file: {folder}/key.pem }} }}
    paths:
      "/":
        proxy.reverse.url: "http://127.0.0.1:{mock}/"
        proxy.timeout.io: 60000
        proxy.timeout.keepalive: 5000
"""


def main():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 3 * SESSIONS + 200
    if hard != resource.RLIM_INFINITY and hard < needed:
        skip(f"{needed} descriptors are needed, and {hard} are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))
    with Scene() as scene:
        expect = scene.expect
        scene.certificate()
        mock = scene.mock(api="openai-chat", tokens=TOKENS, first_token=f"{FIRST_MS}ms", interval=f"{GAP_MS}ms")
        user = os.getuid() == 0
        servers = []
        h2o, nginx = program("h2o"), program("nginx")
        if h2o:
            plain, tls = free_ports(2)
            scene.file("h2o.conf", H2O.format(folder=scene.folder, mock=mock, plain=plain, tls=tls, user="user: root" if user else ""))
            log = open(f"{scene.folder}/h2o.log", "w")
            scene.start([h2o, "-c", f"{scene.folder}/h2o.conf"], stdout=log, stderr=log)
            scene.wait_for(plain)
            servers.append(("h2o", plain, tls))
        if nginx:
            plain, tls = free_ports(2)
            scene.file("nginx.conf", NGINX.format(folder=scene.folder, mock=mock, plain=plain, tls=tls, user="user root;" if user else ""))
            scene.start([nginx, "-p", scene.folder, "-c", f"{scene.folder}/nginx.conf"])
            scene.wait_for(plain)
            servers.append(("nginx", plain, tls))
        if not servers:
            skip("neither h2o nor nginx is installed, nor can they be here")

        rows = []
        for name, plain, tls in servers:
            kinds = [("HTTP/2 + TLS", f"https://127.0.0.1:{tls}{CHAT}", "2"), ("HTTP/1.1 + TLS", f"https://127.0.0.1:{tls}{CHAT}", "1.1"),
                     ("HTTP/1.1", f"http://127.0.0.1:{plain}{CHAT}", "1.1")]
            costs = {kind: [] for kind, *_ in kinds}
            last = {}
            for number in range(ROUNDS):
                for kind, url, http in kinds:
                    run = scene.run(f"{name}, {kind}, {number}", {"url": url, "http": http},
                                    {"sessions": SESSIONS, "concurrency": SESSIONS, "ramp_up": "2s"},
                                    {"timeouts": {"connect": "60s"}}, expected=TOKENS + 2)
                    print(run.line(), f"at most {run.variant['sessions']['peak_live']} live", run.variant["error_samples"] or "")
                    v = run.variant
                    expect(f"{run.name}: {SESSIONS} sessions complete without an error", v["sessions"]["completed"] == SESSIONS and not run.errors(),
                           (v["sessions"], run.errors(), v["error_samples"]))
                    expect(f"{run.name}: nothing lost", v["recovery"]["delivered"] == v["recovery"]["expected"] == SESSIONS * (TOKENS + 2)
                           and v["recovery"]["lost"] == 0, v["recovery"])
                    if http == "2":
                        # At most 24 streams share one.
                        expect(f"{run.name}: over few connections", v["connections"]["new"] <= SESSIONS / 16, v["connections"])
                    costs[kind].append(v["instrument"]["cpu_s_per_million_events"])
                    last[kind] = v
            base = sum(costs["HTTP/1.1 + TLS"])
            for kind, *_ in kinds:
                v = last[kind]
                rows.append(f"| {name} | {kind} | {v['connections']['new']} | {', '.join(f'{c:.1f}' for c in costs[kind])} | "
                            f"{sum(costs[kind]) / base:.2f} | {v['tls_ms']['p50'] or 0:.1f} | {v['ttft_ms']['p50']:.1f} | {v['itl_ms']['p50']:.1f} |")
        # A handshake that takes long is no reason for more connections.
        name, _, tls = servers[0]
        with relay(tls, first=2.5) as way:
            late = scene.run(f"{name}, HTTP/2 + TLS, a handshake of 2.5 s", {"url": f"https://127.0.0.1:{way.port}{CHAT}", "http": "2"},
                             {"sessions": 200, "concurrency": 200}, expected=TOKENS + 2)
        print(late.line(), late.variant["error_samples"] or "")
        expect(f"{late.name}: 200 sessions complete", late.variant["sessions"]["completed"] == 200, late.errors())
        expect(f"{late.name}: over few connections", late.variant["connections"]["new"] <= 24, late.variant["connections"])

        print(f"\n{SESSIONS} sessions of {TOKENS} tokens, {GAP_MS} ms apart\n")
        print("| server | path | connections | CPU µs an event | against HTTP/1.1 + TLS | tls_ms p50 | ttft_ms p50 | itl_ms p50 |")
        print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
        print("\n".join(rows) + "\n")
        scene.finish()


main()
