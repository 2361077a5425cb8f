"""Nchan, a publish/subscribe server of others, under 500 sessions while it is reloaded once and loses three workers.

A publisher sends 1,000 numbered events one after another and keeps a log of what was acknowledged. Nchan keeps a channel in
the memory of one worker: when that one is killed, what the channel held is gone, and clients that had not read it lose it.
How many that are differs from run to run, and is known exactly: a relay keeps what Nchan sent on each connection, and each
client's Last-Event-ID says how far it had come. The ledger must have counted the same, event by event.
"""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from _packages import program

SSEBENCH = os.environ["SSEBENCH"]
SESSIONS, EVENTS, PACE = 500, 1000, 0.04
MODULE = "/usr/lib/nginx/modules/ngx_nchan_module.so"
problems = []

CONFIGURATION = """
load_module {module};
worker_processes 4;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log notice;
{user}
worker_shutdown_timeout 1s;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  nchan_shared_memory_size 128m;
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location = /publish {{ nchan_publisher; nchan_channel_id news; nchan_message_buffer_length 5000; nchan_message_timeout 10m; }}
    location = /news {{
      nchan_subscriber eventsource; nchan_channel_id news; nchan_subscriber_first_message oldest;
    }}
  }}
}}
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Nginx:
    def __init__(self, nginx, folder):
        self.port, self.folder = free_port(), folder
        with open(f"{folder}/nginx.conf", "w") as file:
            file.write(CONFIGURATION.format(module=MODULE, folder=folder, port=self.port, user="user root;" if os.getuid() == 0 else ""))
        self.command = [nginx, "-p", folder, "-c", f"{folder}/nginx.conf"]
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        sys.exit(f"nginx does not listen: {open(folder + '/error.log').read()[-2000:]}")

    def workers(self):
        """Ids of the workers that serve (not those that a reload lets end)."""
        found = []
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children") as file:
            for pid in file.read().split():
                try:
                    with open(f"/proc/{pid}/cmdline", "rb") as line:
                        if b"worker process" in (text := line.read()) and b"shutting down" not in text:
                            found.append(int(pid))
                except OSError:
                    pass
        return found

    def reload(self):
        subprocess.run([*self.command, "-s", "reload"], check=True, capture_output=True, timeout=30)

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(timeout=20)


def request(port, method, path, body=b"", timeout=5):
    """One request on a connection of its own: the status, or None where no answer came."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout) as one:
            one.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            answer = b""
            while data := one.recv(65536):
                answer += data
        found = re.match(rb"HTTP/1.1 (\d+)", answer)
        return int(found[1]) if found else None
    except OSError:
        return None


class Publisher(threading.Thread):
    """Sends 1 … 1,000 in order, once each, and logs the answer."""

    def __init__(self, nginx):
        super().__init__(daemon=True)
        self.nginx, self.log, self.at = nginx, [], 0
        self.actions = {200: self.kill, 400: self.reload, 600: self.kill, 800: self.kill}
        self.done = []

    def kill(self):
        worker = self.nginx.workers()[len(self.done) % 4]
        os.kill(worker, signal.SIGKILL)
        self.done.append((self.at, f"kill of worker {worker}"))

    def reload(self):
        self.nginx.reload()
        self.done.append((self.at, "reload"))

    def run(self):
        due = time.monotonic()
        for number in range(1, EVENTS + 1):
            self.at = number
            if number in self.actions:
                self.actions[number]()
            body = b'{"n":%d,"text":"event %d"}' % (number, number)
            self.log.append((number, request(self.nginx.port, "POST", "/publish", body)))
            due = max(due + PACE, time.monotonic())
            time.sleep(max(0, due - time.monotonic()))
        self.log.append(("done", request(self.nginx.port, "POST", "/publish", b"[DONE]")))


class Relay:
    """Between the clients and Nchan. It keeps what Nchan sent on each connection, and marks each id with the number of the
    client, so that a Last-Event-ID says whose connection was lost, and how far that client had come. Towards Nchan it speaks
    HTTP/1.0, whose answers have no chunks to be cut through."""

    def __init__(self, port):
        self.upstream, self.clients, self.ready = port, [], threading.Event()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        assert self.ready.wait(10)

    def run(self):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(self.loop.create_server(lambda: Near(self), "127.0.0.1", 0, backlog=2048))
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        self.loop.run_forever()

    def end(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)


class Near(asyncio.Protocol):
    """The client's side of a connection."""

    def __init__(self, relay):
        self.relay, self.far, self.request, self.is_gone = relay, None, b"", False

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.request += data
        if b"\r\n\r\n" not in self.request or self.far is not None:
            return
        request = self.request.replace(b" HTTP/1.1\r\n", b" HTTP/1.0\r\n", 1)
        sent = re.search(rb"(?im)^(last-event-id: *)(.*)~(\d+)\r$", request)
        if sent:
            self.client = int(sent[3])
            request = request.replace(sent[0], sent[1] + sent[2] + b"\r")
        else:
            self.client = len(self.relay.clients)
            self.relay.clients.append([])
        self.far = Far(self, request)
        self.relay.clients[self.client].append((sent[2] if sent else None, self.far.blocks))
        self.connecting = self.relay.loop.create_task(self.connect())

    async def connect(self):
        try:
            await self.relay.loop.create_connection(lambda: self.far, "127.0.0.1", self.relay.upstream)
        except OSError:
            self.transport.abort()

    def connection_lost(self, _):
        self.is_gone = True
        if self.far is not None and self.far.transport is not None:
            self.far.transport.close()


class Far(asyncio.Protocol):
    """Nchan's side."""

    def __init__(self, near, request):
        self.near, self.request, self.transport, self.rest, self.blocks = near, request, None, b"", []
        self.mark = b"\\g<0>~%d" % near.client

    def connection_made(self, transport):
        self.transport = transport
        transport.write(self.request)
        if self.near.is_gone:
            transport.close()

    def data_received(self, data):
        whole, found, rest = (self.rest + data).rpartition(b"\n\n")
        if not found and b"\r\n\r\n" in rest and not self.blocks:
            # The head alone: it says that the stream is open.
            whole, found, rest = rest, b"", b""
        self.rest = rest
        if whole:
            self.blocks.append(whole + found)
            self.near.transport.write(re.sub(rb"(?m)^id: .*$", self.mark, whole + found))

    def connection_lost(self, _):
        # What came before an end or a reset has been passed on, and goes out before this end does.
        self.near.transport.close()


class Wire:
    """What the ledger must have counted: by sets, from the bytes that Nchan sent and the ids that clients came back with."""

    def __init__(self, clients):
        self.delivered = self.lost = self.duplicated = self.reordered = self.corrupted = 0
        self.clients = len(clients)
        self.requests = sum(len(connections) for connections in clients)
        self.ended, self.unread, self.abandoned, self.gaps = 0, 0, 0, {}
        for connections in clients:
            self.client([(sent, self.events(b"".join(blocks))) for sent, blocks in connections])

    @staticmethod
    def events(answer):
        """Id, and number or None for the end, of each event."""
        return [(id_, int(number) if number else None)
                for id_, number in re.findall(rb'(?m)^id: (.*)\ndata: (?:\{"n":(\d+)|\[DONE\])', answer)]

    def client(self, connections):
        last = connections[-1][1]
        if not any(number is None for _, number in last):
            # Nothing of it was read: who has read an id comes back with it, and with the number of this client.
            self.unread += len(last)
            self.abandoned += 1
            if len(connections) == 1:
                return
        seen, highest = set(), 0
        for place, (_, found) in enumerate(connections):
            if place + 1 < len(connections):
                # A connection that the client itself gave up may have had more on the way than it read.
                said = connections[place + 1][0]
                ids = [id_ for id_, _ in found]
                read = len(ids) - ids[::-1].index(said) if said in ids else 0
                self.unread += len(found) - read
                found = found[:read]
            for _, number in found:
                if number is None:
                    self.ended += 1
                    break
                if number in seen:
                    self.duplicated += 1
                elif number < highest:
                    self.reordered += 1
                seen.add(number)
                highest = max(highest, number)
        self.delivered += len(seen)
        self.lost += EVENTS - len(seen)
        first = None
        for number in range(1, EVENTS + 2):
            if number <= EVENTS and number not in seen:
                first = first or number
            elif first:
                self.gaps[(first, number - 1)] = self.gaps.get((first, number - 1), 0) + 1
                first = None


def held(port):
    """The numbers that the channel still has, in order, as a client without history gets them."""
    with socket.create_connection(("127.0.0.1", port), 5) as one:
        one.sendall(b"GET /news HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
        text, ends = b"", time.monotonic() + 10
        one.settimeout(1.5)
        try:
            while time.monotonic() < ends and b"[DONE]" not in text and (data := one.recv(65536)):
                text += data
        except TimeoutError:
            pass
    return [int(n) for n in re.findall(rb'data: \{"n":(\d+)', text)], b"[DONE]" in text


def main():
    nginx = program("nginx", "nginx-light", "libnginx-mod-nchan", also=MODULE)
    with tempfile.TemporaryDirectory() as folder:
        server = Nginx(nginx, folder)
        relay = Relay(server.port)
        try:
            scenario = {
                "name": "nchan", "endpoint": {"url": f"http://127.0.0.1:{relay.port}/news", "api": "sse"},
                "load": {"model": "closed", "concurrency": SESSIONS, "sessions": SESSIONS, "ramp_up": "1s"},
                "until": {"data": "[DONE]"}, "verify": {"sequence": {"json": "n"}, "first": 1, "expected": EVENTS},
                "client": {"stack": "raw", "reconnect": {"policy": "whatwg", "retry": "200ms"},
                           "timeouts": {"connect": "20s", "first_event": "20s", "idle": "6s", "total": "200s"}},
            }
            with open(f"{folder}/scenario.json", "w") as file:
                json.dump(scenario, file)
            run = subprocess.Popen(
                [SSEBENCH, "run", f"{folder}/scenario.json", "--out", f"{folder}/run", "--quiet"], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            time.sleep(3)
            publisher = Publisher(server)
            publisher.start()
            publisher.join(200)
            stored, has_end = held(server.port)
            said, _ = run.communicate(timeout=300)
        finally:
            server.end()
            relay.end()
        judge(publisher, stored, has_end, Wire(relay.clients), folder, said)
    for problem in problems:
        print(f"failed: {problem}")
    print(f"recovery_nchan: {len(problems)} problems")
    sys.exit(1 if problems else 0)


def expect(what, condition):
    print(f"  {'ok' if condition else 'NOT OK'}  {what}")
    if not condition:
        problems.append(what)


def judge(publisher, stored, has_end, wire, folder, said):
    if not os.path.exists(f"{folder}/run/summary.json"):
        sys.exit(f"no run: {said}")
    with open(f"{folder}/run/summary.json") as file:
        variant = json.load(file)["variants"][0]
    recovery, sessions = variant["recovery"], variant["sessions"]
    refused = [number for number, status in publisher.log if status not in (201, 202)]
    print("; ".join(f"{what} at event {number}" for number, what in publisher.done))
    print(f"publisher's log: {len(publisher.log) - 1 - len(refused)} of {EVENTS} events acknowledged, not acknowledged: {refused or 'none'}")
    for number in refused:
        # Its connection was cut: whether it was taken is in what the clients got.
        missed = sum(clients for (first, last), clients in wire.gaps.items() if number != "done" and first <= number <= last)
        print(f"  event {number}: no answer, and {SESSIONS - missed} of {SESSIONS} clients got it")
    print(f"the channel holds afterwards {len(stored)} events{f', {stored[0]} to {stored[-1]}' if stored else ''}: what came before went with its worker's memory")
    print(f"on the wire: {wire.delivered} delivered, {wire.lost} lost, {wire.duplicated} duplicated, {wire.reordered} reordered, {wire.requests} requests, "
          f"{wire.unread} sent on connections that the client had given up")
    print(f"in the ledger: {recovery['delivered']} delivered, {recovery['lost']} lost, {recovery['duplicated']} duplicated, {recovery['reordered']} reordered, "
          f"{recovery['disconnects']} disconnects, {recovery['reconnects']} reconnects, {recovery['recovered']} recovered, "
          f"recovery p50 {recovery['time_ms']['p50']} ms; {sessions['completed']} of {SESSIONS} complete {[k for k, v in variant['errors'].items() if v]}")
    # What a channel held up to an incident is gone with it, so a range of losses ends where the incident was: at its event, or
    # a little before or after, as far as the worker lagged behind the publisher.
    by_incident, unexplained = {number: [] for number, _ in publisher.done}, []
    for (first, last), clients in sorted(wire.gaps.items(), key=lambda gap: -gap[1]):
        near = min(by_incident, key=lambda number: abs(last + 1 - number))
        (by_incident[near] if abs(last + 1 - near) <= 75 else unexplained).append((first, last, clients))
    for number, what in publisher.done:
        ranges = by_incident[number]
        listed = ", ".join(f"{first} to {last} by {clients} clients" for first, last, clients in ranges[:4])
        print(f"  {sum(clients * (last - first + 1) for first, last, clients in ranges)} losses at the {what}, event {number}"
              f"{': ' if ranges else ''}{listed}{f' and {len(ranges) - 4} more ranges' if len(ranges) > 4 else ''}")
    for key in ("delivered", "lost", "duplicated", "reordered", "corrupted"):
        expect(f"{key}: {recovery[key]} in the ledger, {getattr(wire, key)} by what Nchan sent", recovery[key] == getattr(wire, key))
    expect(f"expected: {SESSIONS} times the publisher's {EVENTS}", recovery["expected"] == SESSIONS * EVENTS)
    expect("all sessions reach the end", sessions["completed"] == SESSIONS == wire.ended)
    expect("only clients that had read nothing came back without an id", wire.clients == SESSIONS + wire.abandoned)
    expect("reconnects: the relay's requests but for the first of each", recovery["reconnects"] == wire.requests - SESSIONS)
    expect("what the channel still holds, and was published before the last kill, came to all who asked",
           has_end and all(stored[i] < stored[i + 1] for i in range(len(stored) - 1)))
    expect(f"no loss far from a kill or the reload: {unexplained or 'none'}", not unexplained)
    expect("a reload and three kills", len(publisher.done) == 4)
    expect("connections were lost, by the hundred", recovery["disconnects"] >= 300)


main()
