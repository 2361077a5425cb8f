#!/usr/bin/env python3
"""The mock behind nginx: TLS with HTTP/2, HTTP/1.1, a set-up that buffers, one that compresses.

Each path is looked at with curl first, since what nginx does depends on its version. Then ssebench runs through it, and
must call `buffered` what is buffered and nothing else. 1,000 sessions over few HTTP/2 connections must all complete.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SSEBENCH = os.environ.get("SSEBENCH", os.path.join(HERE, "../../.build/release/ssebench"))
NGINX = shutil.which("nginx") or "/usr/sbin/nginx"
HEALTHY_RUNS = int(os.environ.get("HEALTHY_RUNS", "3"))

CONFIGURATION = """
worker_processes 1;
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
  proxy_read_timeout 60s;
  # Streams as they should be passed on.
  server {{
    listen 127.0.0.1:{plain}; listen 127.0.0.1:{tls} ssl http2; listen 127.0.0.1:{old_tls} ssl;
    location / {{ proxy_pass http://mock; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }}
  }}
  # HTTP/1.0 to the upstream, nginx's default: the answer ends by its close, and is held until a buffer is full.
  server {{
    listen 127.0.0.1:{buffering}; listen 127.0.0.1:{buffering_tls} ssl http2;
    proxy_buffer_size 64k; proxy_buffers 8 64k; proxy_busy_buffers_size 128k;
    location / {{ proxy_pass http://mock; proxy_buffering on; }}
  }}
  # Compression of what passes.
  server {{
    listen 127.0.0.1:{gzip};
    gzip on; gzip_types text/event-stream; gzip_proxied any; gzip_min_length 0;
    location / {{ proxy_pass http://mock; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering on; }}
  }}
}}
"""

TOKENS = 100


def free_ports(count):
    import socket
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def holds_back(url, folder, *more):
    """Whether half of the body comes late in the life of the answer, as curl sees it.

    Not curl's own time to the first byte: it counts HTTP/2's settings as one.
    """
    body = json.dumps({"model": "m", "stream": True, "max_tokens": TOKENS, "messages": [{"role": "user", "content": "x"}]})
    arrivals, size, start = [], 0, time.monotonic()
    process = subprocess.Popen(
        ["curl", "-s", "-N", "--max-time", "60", "--cacert", f"{folder}/cert.pem", "-H", "Content-Type: application/json", "-d", body,
         *more, url], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    with process.stdout as out:
        while data := os.read(out.fileno(), 65536):
            size += len(data)
            arrivals.append((time.monotonic() - start, size))
    process.wait(timeout=60)
    half = next((at for at, count in arrivals if 2 * count >= size), 0)
    end = arrivals[-1][0] if arrivals else 0
    print(f"curl {url} {' '.join(more)}: half of {size} bytes after {half:.3f} s of {end:.3f} s, in {len(arrivals)} reads")
    return half > 0.8 * end


def run(folder, name, url, http="auto", headers=None, sessions=20, concurrency=20, tokens=TOKENS):
    scenario = {
        "name": name,
        "endpoint": {"url": url, "api": "openai-chat", "http": http, "headers": headers or {},
                     "tls": {"ca": f"{folder}/cert.pem"} if url.startswith("https") else {}},
        "request": {"model": "mock-1", "max_tokens": tokens},
        "load": {"sessions": sessions, "concurrency": concurrency},
    }
    number = len([n for n in os.listdir(folder) if n.startswith("run-")])
    path = os.path.join(folder, f"scenario-{number}.json")
    with open(path, "w") as file:
        json.dump(scenario, file)
    out = os.path.join(folder, f"run-{number}")
    result = subprocess.run([SSEBENCH, "run", path, "--out", out, "--quiet"], capture_output=True, text=True, timeout=280,
                            stdin=subprocess.DEVNULL)
    if not os.path.exists(f"{out}/summary.json"):
        sys.exit(f"{name}: {result.stdout}{result.stderr}")
    with open(f"{out}/summary.json") as file:
        summary = json.load(file)
    variant = summary["variants"][0]
    codes = [w["code"] for w in summary["warnings"]]
    print(f"{name}: {variant['sessions']['completed']} of {sessions} completed, ttft p50 {variant['ttft_ms']['p50']} ms, "
          f"{ {kind: n for kind, n in variant['errors'].items() if n} or 'no errors'} {variant['error_samples'] or ''}, "
          f"fake {variant['streaming']['fake_ratio']}, connections {variant['connections']}, "
          f"{variant['instrument']['cpu_s_per_million_events']} CPU µs an event, {[c for c in codes if c != 'sample_too_small']}")
    return variant, codes


def main():
    if not os.path.exists(NGINX):
        print("nginx is not installed")
        sys.exit(77)
    problems = []

    def expect(what, condition):
        print(f"{'ok' if condition else 'NOT OK'}  {what}")
        if not condition:
            problems.append(what)

    folder = tempfile.mkdtemp()
    mock = nginx = None
    try:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
             "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"],
            check=True, capture_output=True, timeout=60)
        with open(f"{folder}/mock.json", "w") as file:
            json.dump({"api": "openai-chat", "tokens": TOKENS, "first_token": "100ms", "interval": "10ms"}, file)
        mock = subprocess.Popen(
            [SSEBENCH, "mock", f"{folder}/mock.json", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        port = int(json.loads(mock.stdout.readline())["listening"].rsplit(":", 1)[1])
        plain, tls, buffering, buffering_tls, packed, old_tls = free_ports(6)
        with open(f"{folder}/nginx.conf", "w") as file:
            file.write(CONFIGURATION.format(
                folder=folder, mock=port, plain=plain, tls=tls, buffering=buffering, buffering_tls=buffering_tls, gzip=packed,
                old_tls=old_tls,
                user="user root;" if os.getuid() == 0 else ""))
        nginx = subprocess.Popen([NGINX, "-p", folder, "-c", f"{folder}/nginx.conf"], stdin=subprocess.DEVNULL)
        path = "/v1/chat/completions"
        for _ in range(100):
            probe = subprocess.run(["curl", "-s", "-o", "/dev/null", f"http://127.0.0.1:{plain}/health"], timeout=20)
            if probe.returncode == 0:
                break
            time.sleep(0.1)

        # What each path does.
        urls = {name: f"http://127.0.0.1:{port}{path}" for name, port in
                [("plain", plain), ("buffering", buffering), ("gzip", packed)]}
        secure, secure_buffering = f"https://127.0.0.1:{tls}{path}", f"https://127.0.0.1:{buffering_tls}{path}"
        expect("curl: HTTP/1.1 with proxy_buffering off streams", not holds_back(urls["plain"], folder))
        expect("curl: HTTP/2 with proxy_buffering off streams", not holds_back(secure, folder, "--http2"))
        buffers = holds_back(urls["buffering"], folder)
        gzips = holds_back(urls["gzip"], folder, "-H", "Accept-Encoding: gzip")

        # What ssebench calls it.
        for number in range(HEALTHY_RUNS):
            for name, url, http in [("HTTP/1.1", urls["plain"], "1.1"), ("HTTP/2", secure, "2"), ("HTTP/1.1 over TLS", secure, "1.1")]:
                variant, codes = run(folder, f"healthy, {name}, {number}", url, http)
                expect(f"{name}: all complete", variant["sessions"]["completed"] == 20)
                expect(f"{name}: no false alarm", "buffered" not in codes)
        if buffers:
            for name, url, http in [("HTTP/1.1", urls["buffering"], "1.1"), ("HTTP/2", secure_buffering, "2")]:
                variant, codes = run(folder, f"buffering, {name}", url, http)
                expect(f"{name}: what buffers is called buffered", "buffered" in codes)
        else:
            print("this nginx passes the stream on with buffers of 64 KiB: nothing to find there")
        variant, codes = run(folder, "gzip asked for", urls["gzip"], "1.1", {"Accept-Encoding": "gzip"})
        expect("gzip: all complete", variant["sessions"]["completed"] == 20)
        expect(f"gzip: called buffered where curl sees it held back ({gzips})", ("buffered" in codes) == gzips)
        variant, codes = run(folder, "gzip not asked for", urls["gzip"], "1.1")
        expect("gzip not asked for: no false alarm", "buffered" not in codes)

        # Many streams on few connections.
        variant, codes = run(folder, "1,000 over HTTP/2", secure, "2", sessions=1000, concurrency=1000, tokens=50)
        expect("1,000 sessions over HTTP/2 complete", variant["sessions"]["completed"] == 1000)
        # At most 24 streams share one.
        expect("over few connections", variant["connections"]["new"] <= 60)
        variant, codes = run(folder, "an HTTP/1.1 server, HTTP/2 left open", f"https://127.0.0.1:{old_tls}{path}", sessions=60, concurrency=60)
        expect("an HTTP/1.1 server over TLS serves 60 at a time", variant["sessions"]["completed"] == 60
               and variant["sessions"]["peak_live"] == 60 and variant["ttft_ms"]["p50"] < 2000)
    finally:
        for process in [nginx, mock]:
            if process:
                process.terminate()
                process.wait(timeout=20)
        shutil.rmtree(folder, ignore_errors=True)
    for problem in problems:
        print(f"failed: {problem}")
    sys.exit(1 if problems else 0)


main()
