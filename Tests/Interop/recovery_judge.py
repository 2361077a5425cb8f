"""The judge is judged: event streams of which it is known what is wrong with them, held against the ledger's counts.

First by a server that shares nothing with ssebench: written here, with numbers, ids and a log of its own. It breaks each
stream several times and, after the breaks, loses, doubles, swaps or damages K events, K in 1, 2, 10, 100, 1,000, each
kind alone and all together. What must be found is counted from its log of what it wrote, by sets and not by ranges.
Then by ssebench's own mock, for every K from 1 to 1,000: session K has a fault that makes K of a kind.
"""

import asyncio
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time

SSEBENCH = os.environ["SSEBENCH"]
SESSIONS, EVENTS, CONNECTIONS = 10, 1500, 6
KINDS = ("lost", "duplicated", "reordered", "corrupted")
AMOUNTS = (1, 2, 10, 100, 1000)
problems = []


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def crc_table():
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        yield value


CRC_TABLE = list(crc_table())
assert crc32c(b"123456789") == 0xE3069283  # the check value of CRC-32C


class Stream:
    """One client's stream: for each connection what will be written, and a log of what was."""

    def __init__(self, name, first, wrong, source):
        self.name, self.source = name, source
        self.log = []  # (number, damaged) in the order of writing
        self.requests = []  # the Last-Event-ID of each
        self.connections = self.plan(first, wrong)

    def plan(self, first, wrong):
        """`wrong` has, for each resumed connection, how many are lost, doubled, swapped and damaged on it."""
        source, connections, sent, number = self.source, [], [], first
        end = first + EVENTS
        clean = EVENTS - sum(w["lost"] + 2 * w["reordered"] + w["corrupted"] for w in wrong)
        shares = [clean // CONNECTIONS] * CONNECTIONS
        shares[-1] += clean - sum(shares)
        for place in range(CONNECTIONS):
            here = wrong[place - 1] if place else dict.fromkeys(KINDS, 0)
            writes = []
            steps = ["clean"] * shares[place]
            for kind in ("reordered", "corrupted", "lost"):
                for _ in range(here[kind]):
                    # The last event of a connection is a clean one, so that no loss hides behind the stream's end.
                    steps.insert(source.randrange(0, max(1, len(steps) - 1)), kind)
            again = sent[len(sent) - here["duplicated"]:]
            assert len(again) == here["duplicated"]
            writes += [(old, False) for old in again]
            for step in steps:
                if step == "lost":
                    number += 1
                elif step == "reordered":
                    writes += [(number + 1, False), (number, False)]
                    sent += [number, number + 1]
                    number += 2
                else:
                    writes.append((number, step == "corrupted"))
                    sent.append(number)
                    number += 1
            connections.append(writes)
        assert number == end, (number, end)
        return connections

    def event(self, number, damaged):
        body = "".join(self.source.choice("abcdefghijklmnopqrstuvwxyz äß→😀") for _ in range(12)) + "."
        checksum = f"{crc32c(body.encode()):08x}"
        if damaged:
            at = self.source.randrange(len(body))
            body = body[:at] + ("#" if self.source.random() < 0.5 else "") + body[at + 1:]
        data = json.dumps({"meta": {"seq": number}, "body": body, "sum": checksum}, ensure_ascii=self.source.random() < 0.5)
        return f"id: {self.name}-{number}\nevent: row\ndata: {data}\n\n".encode()

    def judged(self):
        """What a client that misses nothing must have counted, from the log alone."""
        seen, highest, counts = set(), 0, dict.fromkeys(KINDS, 0)
        numbers = [number for number, _ in self.log]
        for number, damaged in self.log:
            counts["corrupted"] += damaged
            if number in seen:
                counts["duplicated"] += 1
            elif number < highest:
                counts["reordered"] += 1
            seen.add(number)
            highest = max(highest, number)
        counts["lost"] = EVENTS - len(seen)
        counts["delivered"] = len(set(numbers))
        return counts


class Server:
    """HTTP by hand, so that each stream can be broken where it should be."""

    def __init__(self, streams):
        self.waiting, self.streams, self.drops, self.faults = list(streams), {}, 0, []
        self.ready = threading.Event()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        assert self.ready.wait(10)

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.server = self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=256))
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/rows"
        self.ready.set()
        self.loop.run_forever()

    def end(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)

    async def serve(self, reader, writer):
        try:
            await self.answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.TimeoutError):
            pass
        finally:
            writer.close()

    async def answer(self, reader, writer):
        head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)).decode("latin-1")
        last = next((line.split(":", 1)[1].strip() for line in head.split("\r\n") if line.lower().startswith("last-event-id:")), None)
        if last is None:
            stream = self.waiting.pop(0)
            self.streams[stream.name] = stream
        else:
            stream = self.streams[last.rsplit("-", 1)[0]]
            if last != f"{stream.name}-{stream.log[-1][0]}":
                self.faults.append(f"{stream.name}: Last-Event-ID {last}, the last written was {stream.log[-1][0]}")
        place = len(stream.requests)
        stream.requests.append(last)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        self.chunk(writer, b"retry: 10\n\n")
        for number, damaged in stream.connections[place]:
            self.chunk(writer, stream.event(number, damaged))
            stream.log.append((number, damaged))
            if number % 50 == 0:
                await writer.drain()
        if place + 1 == CONNECTIONS:
            self.chunk(writer, b"event: end\ndata: {}\n\n")
            writer.write(b"0\r\n\r\n")
        else:
            self.drops += 1
            how = stream.source.choice(["end", "cut", "half an event", "half a chunk"])
            half = stream.event(stream.log[-1][0] + 1, False)
            if how == "end":
                writer.write(b"0\r\n\r\n")
            elif how == "half an event":
                self.chunk(writer, half[:stream.source.randrange(1, len(half) - 1)])
            elif how == "half a chunk":
                writer.write(b"%x\r\n" % len(half) + half[:stream.source.randrange(1, len(half) - 1)])
        await writer.drain()

    @staticmethod
    def chunk(writer, data):
        writer.write(b"%x\r\n%s\r\n" % (len(data), data))


def spread(total, places, source):
    amounts = [0] * places
    for _ in range(total):
        amounts[source.randrange(places)] += 1
    return amounts


def run(scenario, folder):
    path, out = f"{folder}/scenario.json", f"{folder}/run-{time.monotonic_ns()}"
    with open(path, "w") as file:
        json.dump(scenario, file)
    done = subprocess.run(
        [SSEBENCH, "run", path, "--out", out, "--quiet"], capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
    if not os.path.exists(f"{out}/summary.json"):
        sys.exit(f"no run: {done.stdout}{done.stderr}")
    with open(f"{out}/summary.json") as file:
        summary = json.load(file)
    with open(f"{out}/sessions.csv") as file:
        rows = list(csv.DictReader(file))
    return summary, rows


def foreign(folder, wanted, sequence, seed):
    source = random.Random(seed)
    wrong = [[dict.fromkeys(KINDS, 0) for _ in range(CONNECTIONS - 1)] for _ in range(SESSIONS)]
    for kind, total in wanted.items():
        for place, amount in enumerate(spread(total, SESSIONS * (CONNECTIONS - 1), source)):
            wrong[place // (CONNECTIONS - 1)][place % (CONNECTIONS - 1)][kind] = amount
    streams = [Stream(f"s{i}", 5001, wrong[i], random.Random(seed * 100 + i)) for i in range(SESSIONS)]
    server = Server(streams)
    try:
        summary, _ = run({
            "name": "judge", "endpoint": {"url": server.url, "api": "sse"},
            "load": {"model": "closed", "concurrency": SESSIONS, "sessions": SESSIONS}, "until": {"event": "end"},
            "verify": {"sequence": sequence, "first": 5001, "expected": EVENTS, "checksum": {"crc32c": "sum", "of": "body"}},
            "client": {"stack": source.choice(["raw", "curl"]), "reconnect": {"policy": "whatwg"}, "timeouts": {"total": "60s"}},
        }, folder)
    finally:
        server.end()
    variant = summary["variants"][0]
    found = variant["recovery"]
    truth = {key: sum(stream.judged()[key] for stream in streams) for key in (*KINDS, "delivered")}
    truth["expected"] = SESSIONS * EVENTS
    truth["disconnects"] = truth["recovered"] = server.drops
    name = "mixed" if len(wanted) > 1 else next(iter(wanted))
    rule = sequence if isinstance(sequence, str) else next(iter(sequence))
    print(f"  {name:10} K {sorted(set(wanted.values()))!s:14} number from {rule:5} {variant['client']['stack']:4} log "
          + " ".join(f"{kind} {truth[kind]}" for kind in KINDS) + " | ledger " + " ".join(f"{kind} {found[kind]}" for kind in KINDS)
          + f" | {found['disconnects']} drops, {found['recovered']} recovered, {variant['sessions']['completed']} complete")
    for kind in KINDS:
        if truth[kind] != wanted.get(kind, 0):
            problems.append(f"{name}: the server wrote {truth[kind]} {kind}, it should have been {wanted.get(kind, 0)}")
    for key, value in truth.items():
        if found[key] != value:
            problems.append(f"{name} {wanted}: {key} is {found[key]} in the ledger, {value} by the server's log")
    if variant["sessions"]["completed"] != SESSIONS:
        problems.append(f"{name} {wanted}: {variant['sessions']}, {variant['errors']}")
    problems.extend(server.faults)


def own_mock(folder, kind, low, high):
    """One session for each K from `low` to `high`, with K of a kind after a drop."""
    fault, key = {
        "lost": ("skip", "n"), "duplicated": ("replay", "n"), "reordered": ("swap", "times"), "corrupted": ("corrupt", "times"),
    }[kind]
    # What happens more than once goes on from event to event; a swap takes two. A replay needs what it replays.
    count = {"lost": 1100, "duplicated": 1200, "reordered": 2200, "corrupted": 1200}[kind]
    at = 1050 if kind == "duplicated" else 31
    faults = [{"kind": "fin", "at": {"event": at - 1}}]
    faults += [{"kind": fault, "at": {"event": at}, "sessions": [k - low], key: k} for k in range(low, high + 1)]
    summary, rows = run({
        "name": "judge-mock",
        "endpoint": {"mock": {"api": "sse", "tokens": count, "first_token": "1ms", "interval": "0ms", "events_per_write": 50, "faults": faults}},
        "load": {"model": "closed", "concurrency": 20, "sessions": high - low + 1},
        "client": {"stack": "raw", "reconnect": {"policy": "whatwg", "retry": "5ms"}, "timeouts": {"total": "60s"}},
    }, folder)
    wrong = 0
    for row in rows:
        amount = int(row["session"]) + low
        counts = {other: int(row[other]) for other in KINDS}
        if counts != {**dict.fromkeys(KINDS, 0), kind: amount} or row["outcome"] != "completed" or row["disconnects"] != "2":
            wrong += 1
            if wrong <= 3:
                problems.append(f"mock, K {amount}: {counts}, {row['outcome']} {row['error']}, {row['disconnects']} disconnects; should be {amount} {kind}")
    if len(rows) != high - low + 1:
        problems.append(f"mock, {kind}: {len(rows)} sessions of {high - low + 1}")
    total = summary["variants"][0]["recovery"][kind]
    print(f"  mock       K {low} to {high}, {kind}: {total} in all, {sum(range(low, high + 1))} injected; {wrong} of {len(rows)} sessions differ")


def main():
    with tempfile.TemporaryDirectory() as folder:
        seed = 1
        for amount in AMOUNTS:
            for kind in KINDS:
                foreign(folder, {kind: amount}, {"json": "meta.seq"}, seed)
                seed += 1
            # K of each at once, by each way of finding the number.
            for sequence in ({"json": "meta.seq"}, "id", {"regex": r'"seq": (\d+)'}):
                foreign(folder, dict.fromkeys(KINDS, amount), sequence, seed)
                seed += 1
        for kind in KINDS:
            # A list of faults has at most 1,000, and the drop is one.
            own_mock(folder, kind, 1, 999)
            own_mock(folder, kind, 1000, 1000)
    for problem in problems[:40]:
        print(f"  failed: {problem}")
    print(f"recovery_judge: {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
