#!/usr/bin/env python3
"""The mock behind HAProxy and h2o (TLS, HTTP/2, HTTP/1.1 with keep-alive and without, gzip), a proxy by CONNECT, IPv6.

Through each: every session completes, nothing is lost or corrupted, and connecting stands apart from the time to the
first token.
"""

import base64
import json
import os
import select
import socket
import subprocess
import time

from _listener import Listener
from _paths import CHAT, SSEBENCH, Scene, free_ports, has_ipv6, program, skip

TOKENS = 30
SESSIONS = 20
FIRST_MS = 150

HAPROXY = """
global
  maxconn 4096
defaults
  mode http
  # Without it HAProxy corks what it sends over HTTP/1.1, and the kernel holds it for 200 ms.
  option http-no-delay
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend keep
  bind 127.0.0.1:{plain}
  bind 127.0.0.1:{tls} ssl crt {folder}/both.pem alpn h2,http/1.1
  default_backend mock
frontend close
  bind 127.0.0.1:{close}
  bind 127.0.0.1:{close_tls} ssl crt {folder}/both.pem alpn http/1.1
  option httpclose
  default_backend mock_fresh
frontend packed
  bind 127.0.0.1:{gzip}
  bind 127.0.0.1:{gzip_tls} ssl crt {folder}/both.pem alpn h2,http/1.1
  compression algo gzip
  compression type text/event-stream
  default_backend mock
{ipv6}
backend mock
  http-reuse always
  server mock 127.0.0.1:{mock}
backend mock_fresh
  option httpclose
  http-reuse never
  server mock 127.0.0.1:{mock}
"""

HAPROXY_IPV6 = """
frontend six
  bind [::1]:{six} ssl crt {folder}/both.pem alpn h2,http/1.1
  default_backend mock
"""

H2O = """
{user}
num-threads: 1
pid-file: {folder}/h2o.pid
error-log: {folder}/h2o-errors.log
access-log: /dev/null
http1-request-timeout: 30
hosts:
  default:
    listen: {{ host: 127.0.0.1, port: {plain} }}
    listen: {{ host: 127.0.0.1, port: {tls}, ssl: {{ certificate-file: {folder}/cert.pem, key-file: {folder}/key.pem }} }}
    paths:
      "/":
        proxy.reverse.url: "http://127.0.0.1:{mock}/"
        proxy.timeout.io: 60000
        proxy.timeout.keepalive: {keepalive}
        compress: {compress}
        file.mime.settypes: {{ "text/event-stream": {{ extensions: [".sse"], is_compressible: YES }} }}
"""


class ConnectProxy(Listener):
    """CONNECT and nothing else, each answer after a delay; with a password where one is given."""

    def __init__(self, delay, password=None):
        self.delay, self.password = delay, password
        self.tunnels = self.refused = self.others = 0
        super().__init__()

    def serve(self, client):
        upstream = None
        try:
            client.settimeout(30)
            head = b""
            while b"\r\n\r\n" not in head and len(head) < 65536:
                data = client.recv(4096)
                if not data:
                    return
                head += data
            lines = head.split(b"\r\n\r\n", 1)[0].decode("latin-1").split("\r\n")
            verb, target, _ = lines[0].split(" ", 2)
            fields = {line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip() for line in lines[1:]}
            if verb != "CONNECT":
                self.others += 1
                client.sendall(b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            if self.password:
                wanted = "Basic " + base64.b64encode(self.password.encode()).decode()
                if fields.get("proxy-authorization") != wanted:
                    self.refused += 1
                    client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"corp\"\r\n"
                                   b"Content-Length: 0\r\nConnection: close\r\n\r\n")
                    return
            time.sleep(self.delay)
            host, port = target.rsplit(":", 1)
            upstream = socket.create_connection((host.strip("[]"), int(port)), timeout=10)
            for one in (client, upstream):
                one.settimeout(30)
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            client.sendall(b"HTTP/1.1 200 Connection established\r\nVia: 1.1 corporate\r\n\r\n")
            self.tunnels += 1
            both = {client: upstream, upstream: client}
            while both:
                ready, _, _ = select.select(list(both), [], [], 60)
                if not ready:
                    return
                for one in ready:
                    data = one.recv(65536)
                    if not data:
                        return
                    both[one].sendall(data)
        except (OSError, ValueError):
            pass
        finally:
            for one in (client, upstream):
                if one:
                    one.close()


def check(scene, name, endpoint, fresh=None, tls=False, http2=False, stack="curl", compressed=False, sent=True, set_up=0):
    """One run; `fresh`: whether each session must (True) or must not (False) have a connection of its own."""
    client = {"stack": stack, "connections": "fresh" if fresh == "client" else "reuse"}
    run = scene.run(name, endpoint, {"sessions": SESSIONS, "concurrency": SESSIONS // 2}, client, expected=TOKENS + 2)
    v, recovery = run.variant, run.variant["recovery"]
    print(run.line())
    ok = v["sessions"]["completed"] == SESSIONS and not run.errors()
    scene.expect(f"{name}: all complete", ok, (v["sessions"], run.errors(), v["error_samples"]))
    scene.expect(f"{name}: nothing lost, doubled or corrupted",
                 recovery["delivered"] == recovery["expected"] == SESSIONS * (TOKENS + 2)
                 and recovery["lost"] + recovery["corrupted"] + recovery["duplicated"] + recovery["reordered"] == 0, recovery)
    scene.expect(f"{name}: {SESSIONS * TOKENS} tokens", v["tokens"]["count"] == SESSIONS * TOKENS, v["tokens"])
    made, reused = v["connections"]["new"], v["connections"]["reused"]
    if sent:
        if http2:
            scene.expect(f"{name}: streams share connections", made <= 3, v["connections"])
        elif fresh:
            scene.expect(f"{name}: a connection for each session", made == SESSIONS and reused == 0, v["connections"])
        elif fresh is False:
            scene.expect(f"{name}: connections are used again", made == SESSIONS // 2 == reused, v["connections"])
        scene.expect(f"{name}: connect_ms for each new connection", v["connect_ms"]["count"] == made, v["connect_ms"])
        scene.expect(f"{name}: tls_ms for each, and only where there is TLS", v["tls_ms"]["count"] == (made if tls else 0), v["tls_ms"])
        # What a session's connection took lies between its start and request_sent, from where TTFT counts.
        late = []
        for row in run.rows():
            if row["connect_ns"]:
                before = int(row["request_sent_ns"]) - int(row["request_start_ns"])
                if before + 1e6 < int(row["connect_ns"]) + int(row["tls_ns"] or 0) or before < set_up * 1e6:
                    late.append(row)
        scene.expect(f"{name}: connecting lies before request_sent", not late, late[:1])
        scene.expect(f"{name}: TTFT without it", FIRST_MS - 1 <= v["ttft_ms"]["min"] < FIRST_MS + 100,
                     v["ttft_ms"]["min"])
    elif v["counts_from"] == "request_start":
        scene.expect(f"{name}: says that it counts from the start", "origin_request_start" in run.codes, run.codes)
    return run


def proxies(scene, mock):
    done = []
    haproxy = program("haproxy")
    if haproxy:
        plain, tls, close, close_tls, gzip, gzip_tls = free_ports(6)
        six = free_ports(1, "::1")[0] if has_ipv6() else 0
        scene.file("haproxy.cfg", HAPROXY.format(
            folder=scene.folder, mock=mock, plain=plain, tls=tls, close=close, close_tls=close_tls, gzip=gzip, gzip_tls=gzip_tls,
            ipv6=HAPROXY_IPV6.format(six=six, folder=scene.folder) if six else ""))
        scene.start([haproxy, "-db", "-q", "-f", f"{scene.folder}/haproxy.cfg"])
        for port in (plain, tls, close):
            scene.wait_for(port)
        done.append(("HAProxy", plain, tls, close, close_tls, gzip, gzip_tls, six))
    else:
        print("HAProxy is not installed and cannot be")
    h2o = program("h2o")
    if h2o:
        ports = []
        for number, (keepalive, compress) in enumerate([(5000, "OFF"), (0, "OFF"), (5000, "[gzip]")]):
            plain, tls = free_ports(2)
            folder = os.path.join(scene.folder, f"h2o-{number}")
            os.mkdir(folder)
            for name in ("cert.pem", "key.pem"):
                os.symlink(os.path.join(scene.folder, name), os.path.join(folder, name))
            scene.file(f"h2o-{number}/h2o.conf", H2O.format(
                folder=folder, mock=mock, plain=plain, tls=tls, keepalive=keepalive, compress=compress,
                user="user: root" if os.getuid() == 0 else ""))
            with open(os.path.join(folder, "out.log"), "w") as log:
                scene.start([h2o, "-c", f"{folder}/h2o.conf"], stdout=log, stderr=log)
            scene.wait_for(plain)
            ports += [plain, tls]
        plain, tls, close, close_tls, gzip, gzip_tls = ports
        done.append(("h2o", plain, tls, close, close_tls, gzip, gzip_tls, 0))
    else:
        print("h2o is not installed and cannot be")
    return done


def main():
    with Scene() as scene:
        scene.certificate()
        mock = scene.mock(api="openai-chat", tokens=TOKENS, first_token=f"{FIRST_MS}ms", interval="10ms")
        found = proxies(scene, mock)
        if not found:
            skip("neither HAProxy nor h2o is installed, nor can they be here")
        for proxy, plain, tls, close, close_tls, gzip, gzip_tls, six in found:
            # The client side of h2o's keep-alive cannot be turned off: there it is off towards the mock.
            closes = proxy == "HAProxy"
            check(scene, f"{proxy}, HTTP/1.1 keep-alive", {"url": f"http://127.0.0.1:{plain}{CHAT}", "http": "1.1"}, False)
            check(scene, f"{proxy}, HTTP/1.1 kept alive, raw", {"url": f"http://127.0.0.1:{plain}{CHAT}"}, False, stack="raw")
            check(scene, f"{proxy}, HTTP/1.1 kept alive, urlsession", {"url": f"http://127.0.0.1:{plain}{CHAT}"}, stack="urlsession",
                  sent=False)
            check(scene, f"{proxy}, HTTP/1.1 without keep-alive", {"url": f"http://127.0.0.1:{close}{CHAT}", "http": "1.1"}, closes)
            check(scene, f"{proxy}, HTTP/1.1 and a client that closes", {"url": f"http://127.0.0.1:{plain}{CHAT}", "http": "1.1"}, "client")
            check(scene, f"{proxy}, TLS with HTTP/2", {"url": f"https://127.0.0.1:{tls}{CHAT}", "http": "2"}, tls=True, http2=True)
            check(scene, f"{proxy}, TLS, auto", {"url": f"https://127.0.0.1:{tls}{CHAT}"}, tls=True, http2=True)
            check(scene, f"{proxy}, TLS with HTTP/1.1 keep-alive", {"url": f"https://127.0.0.1:{tls}{CHAT}", "http": "1.1"}, False, tls=True)
            check(scene, f"{proxy}, TLS with HTTP/1.1 without keep-alive", {"url": f"https://127.0.0.1:{close_tls}{CHAT}", "http": "1.1"},
                  closes, tls=True)
            for scheme, port, http in [("http", gzip, "1.1"), ("https", gzip_tls, "2")]:
                url = f"{scheme}://127.0.0.1:{port}{CHAT}"
                *_, size = scene.curl(url, "-H", "Accept-Encoding: gzip")
                *_, whole = scene.curl(url)
                run = scene.run(f"{proxy}, gzip, HTTP/{http}", {"url": url, "http": http, "headers": {"Accept-Encoding": "gzip"}},
                                {"sessions": SESSIONS, "concurrency": SESSIONS // 2}, expected=TOKENS + 2)
                print(run.line())
                scene.expect(f"{proxy} compresses (curl: {size} of {whole} bytes)", size < whole)
                recovery = run.variant["recovery"]
                scene.expect(f"{run.name}: all complete, nothing lost", run.variant["sessions"]["completed"] == SESSIONS
                             and recovery["delivered"] == recovery["expected"] == SESSIONS * (TOKENS + 2), (run.errors(), recovery))
            if six:
                check(scene, f"{proxy}, IPv6, TLS with HTTP/2", {"url": f"https://[::1]:{six}{CHAT}", "http": "2"}, tls=True, http2=True)

        # A corporate proxy, slow to let one through.
        tls = found[0][2]
        for http in ("1.1", "2"):
            proxy = ConnectProxy(0.25)
            run = check(scene, f"CONNECT, HTTP/{http}", {"url": f"https://127.0.0.1:{tls}{CHAT}", "http": http, "proxy": f"http://127.0.0.1:{proxy.port}"},
                        tls=True, http2=http == "2", set_up=250)
            # The proxy's delay is connecting; a handshake on loopback takes some milliseconds.
            scene.expect(f"CONNECT, HTTP/{http}: the wait for the proxy is in connect_ms and not in tls_ms",
                         run.variant["connect_ms"]["min"] >= 250 and run.variant["tls_ms"]["mean"] < 200,
                         (run.variant["connect_ms"], run.variant["tls_ms"]))
            # With HTTP/2 libcurl may open a second tunnel before it knows that the first can be shared.
            made = run.variant["connections"]["new"]
            scene.expect(f"CONNECT, HTTP/{http}: through tunnels and nothing else",
                         made <= proxy.tunnels <= (made if http == "1.1" else 3) and proxy.others == 0, (proxy.tunnels, proxy.others))
        proxy = ConnectProxy(0, "ada:secret-word")
        run = check(scene, "CONNECT with a password", {"url": f"https://127.0.0.1:{tls}{CHAT}", "proxy": f"http://ada:secret-word@127.0.0.1:{proxy.port}"},
                    tls=True, http2=True)
        run = scene.run("CONNECT without its password", {"url": f"https://127.0.0.1:{tls}{CHAT}", "proxy": f"http://127.0.0.1:{proxy.port}"},
                        {"sessions": 5})
        print(run.line(), "samples", run.variant["error_samples"])
        scene.expect("CONNECT without its password: all fail", run.variant["sessions"]["failed"] == 5, run.variant["sessions"])
        proxy = ConnectProxy(0)
        run = scene.run("CONNECT to a server that answers 404", {"url": f"https://127.0.0.1:{tls}/nowhere", "proxy": f"http://127.0.0.1:{proxy.port}"},
                        {"sessions": 5})
        print(run.line())
        scene.expect("CONNECT: the server's status counts, not the proxy's", run.variant["errors"]["http_4xx"] == 5, run.errors())

        # The mock itself over IPv6.
        if has_ipv6():
            port = scene.mock(listen="[::1]:0", api="openai-chat", tokens=TOKENS, first_token=f"{FIRST_MS}ms", interval="10ms")
            for stack in ("curl", "raw"):
                check(scene, f"IPv6, {stack}", {"url": f"http://[::1]:{port}{CHAT}"}, False, stack=stack)
            # Foundation on Linux takes no address in brackets: to be refused before the run, not to fail each session.
            path = scene.file("six.json", json.dumps({
                "name": "IPv6, urlsession", "endpoint": {"url": f"http://[::1]:{port}{CHAT}", "api": "openai-chat"},
                "request": {"model": "mock-1"}, "load": {"sessions": 2}, "client": {"stack": "urlsession"}}))
            answer = subprocess.run([SSEBENCH, "run", path, "--out", f"{scene.folder}/six", "--quiet"], capture_output=True, text=True,
                                    timeout=60, stdin=subprocess.DEVNULL)
            scene.expect("IPv6, urlsession: completes, or is refused as a scenario", answer.returncode in (0, 78),
                         (answer.returncode, answer.stdout + answer.stderr))
        else:
            print("not shown: this machine has no IPv6 loopback")
        scene.finish()


main()
