"""A browser's EventSource beside `ssebench listen`: the same streams, the same faults, what each saw and sent.

Each case is a stream of the mock with a fault, or a scripted answer of this file. Both clients reach it through a relay of
this file, which passes bytes and the ways of ending on as they are, and notes each request with its Last-Event-ID. They
must agree on events, headers, opens and outcome wherever the HTML Standard decides; the rest is listed with its reason.
The table goes to .build/interop/recovery-browser.md, and to Reports/recovery/browser.md with KEEP=1.
"""

import concurrent.futures
import json
import os
import re
import select
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

from _listener import Listener
from _mock import faults, mock
from _packages import program

SSEBENCH = os.environ["SSEBENCH"]
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
EVENTS, RETRY, LIMIT = 8, 100, 12.0

# Name, faults of the mock. After the last event comes a clean end, and 204 for whoever asks again.
FIN = {"kind": "fin", "at": {"event": 4}}
MOCK_CASES = [
    ("no fault", []),
    ("fin", [FIN]),
    ("rst", [{"kind": "rst", "at": {"event": 4}}]),
    ("half_close", [{"kind": "half_close", "at": {"event": 4}}]),
    *[(f"cut inside {inside}", [{"kind": "cut", "inside": inside, "at": {"event": 4}}])
      for inside in ("scalar", "crlf", "field", "chunk_header", "blank_line")],
    ("no_last_chunk", [{"kind": "no_last_chunk", "at": {"event": 4}}]),
    ("length too long", [{"kind": "length", "by": 9, "at": {"event": 4}}]),
    ("length too short", [{"kind": "length", "by": -9, "at": {"event": 4}}]),
    ("stall 300 ms", [{"kind": "stall", "for": "300ms", "at": {"event": 4}}]),
    ("stall with comments", [{"kind": "stall", "for": "300ms", "comments": True, "at": {"event": 4}}]),
    ("drip", [{"kind": "drip", "bytes": 7, "every": "2ms", "at": {"event": 4}}]),
    ("two drops before a new event", [FIN, {**FIN, "connection": 2}]),
    ("replay", [FIN, {"kind": "replay", "n": 2, "at": {"event": 5}}]),
    ("skip", [FIN, {"kind": "skip", "n": 2, "at": {"event": 5}}]),
    ("swap", [FIN, {"kind": "swap", "at": {"event": 5}}]),
    ("corrupt", [{"kind": "corrupt", "at": {"event": 5}}]),
    ("foreign", [{"kind": "foreign", "at": {"event": 5}}]),
    ("short_buffer", [{"kind": "fin", "at": {"event": 6}}, {"kind": "short_buffer", "keep": 1}]),
    ("id_reset", [{"kind": "id_reset", "at": {"event": 3}}, FIN]),
    ("retry 300", [{"kind": "retry", "value": "300", "at": {"event": 3}}, FIN]),
    ("retry 0", [{"kind": "retry", "value": "0", "at": {"event": 3}}, FIN]),
    ("retry not a number", [{"kind": "retry", "value": "5s", "at": {"event": 3}}, FIN]),
    ("retry huge", [{"kind": "retry", "value": "86400000", "at": {"event": 3}}, FIN]),
    *[(f"status {code}", [FIN, {"kind": "status", "code": code, "connection": 2}])
      for code in (204, 205, 401, 404, 408, 429, 500, 502, 503)],
    ("status 503 with Retry-After", [FIN, {"kind": "status", "code": 503, "retry_after": "1", "connection": 2}]),
    ("status 500 at once", [{"kind": "status", "code": 500}]),
    ("html", [FIN, {"kind": "html", "connection": 2}]),
    ("json_error", [FIN, {"kind": "json_error", "connection": 2}]),
    ("error_object", [{"kind": "error_object", "at": {"event": 4}}]),
    ("redirect", [FIN, {"kind": "redirect", "to": "/events?session=SESSION&events=8&interval=10ms&first=1ms&retry=100", "connection": 2}]),
    ("redirect loop", [{"kind": "redirect", "loop": True, "times": "always"}]),
]

# Name, answers in turn: (status, content type or None, body, how it ends). What is asked for after them gets 204.
OK, STREAM = 200, "text/event-stream"
LEAD = b"retry: 100\n"


def stream(body, how="end", kind=STREAM):
    return (OK, kind, body, how)


SCRIPT_CASES = [
    ("1 proper end", [stream(LEAD + b"data: a\n\n"), stream(b"data: b\n\n")]),
    ("2 cut", [stream(LEAD + b"data: a\n\n", "cut"), stream(b"data: b\n\n")]),
    ("3 cut inside a block", [stream(LEAD + b"id: abc\ndata: Hello\n\nid: def\ndata: Bye\n", "cut"), stream(b"data: again\n\n")]),
    ("3 end inside a block", [stream(LEAD + b"id: abc\ndata: Hello\n\nid: def\ndata: Bye\n"), stream(b"data: again\n\n")]),
    ("5 between CR and LF", [stream(LEAD + b"data: a\r\n\r"), stream(b"\ndata: b\n\n")]),
    ("5 cut behind CR", [stream(LEAD + b"data: a\r", "cut"), stream(b"\ndata: b\n\n")]),
    ("7 no body but retry", [stream(LEAD), stream(b"data: x\n\n")]),
    ("11 plain resume", [stream(LEAD + b"id: 1\ndata: a\n\n"), stream(b"id: 2\ndata: b\n\n"), stream(b"")]),
    ("12 later events without id", [stream(LEAD + b"id: 1\ndata: a\n\ndata: b\n\n"), stream(b"data: c\n\n")]),
    ("14 reset after it was sent", [stream(LEAD + b"id: 1\ndata: a\n\n"), stream(b"id:\ndata: b\n\n"), stream(b"data: c\n\n")]),
    ("16 an id with NUL", [stream(LEAD + b"id: 1\nid: x\0y\ndata: a\n\n"), stream(b"data: b\n\n")]),
    ("18 carried over", [stream(LEAD + b"id: 1\ndata: a\n\n"), stream(b"data: b\n\n"), stream(b"data: c\n\n")]),
    ("21 the last event again", [stream(LEAD + b"id: 1\ndata: a\n\nid: 2\ndata: b\n\n"), stream(b"id: 2\ndata: b\n\nid: 3\ndata: c\n\n")]),
    ("22 ids on other types", [stream(LEAD + b"id: 7\ndata: a\n\nevent: status\nid: 9\ndata: s\n\n"), stream(b"data: b\n\n")]),
    ("id with UTF-8", [stream(LEAD + "id: ä→😀\ndata: a\n\n".encode()), stream(b"data: b\n\n")]),
    ("id without data", [stream(LEAD + b"id: 5\n\n"), stream(b"data: b\n\n")]),
    ("25 retry with an event", [stream(b"retry: 250\ndata: a\n\n"), stream(b"data: b\n\n")]),
    ("26 retry without a blank line", [stream(b"retry: 250\n"), stream(b"data: b\n\n")]),
    ("27 retry 0, ten times", [stream(b"retry: 0\ndata: a\n\n")] * 10),
    ("29 it lasts", [stream(b"retry: 250\n\n"), stream(b"data: a\n\n"), stream(b"data: b\n\n")]),
    ("31 204 at once", [(204, None, b"", "end")]),
    *[(f"32 status {code}", [(code, STREAM, b"data: x\n\n", "end")]) for code in (201, 202, 203, 206, 210, 299)],
    ("33 failure after success", [stream(LEAD + b"id: 1\ndata: a\n\n"), (503, STREAM, b"data: x\n\n", "end")]),
    ("35 application/json", [stream(b'{"error": 1}', kind="application/json")]),
    ("35 text/plain", [stream(b"data: x\n\n", kind="text/plain")]),
    ("35 no content type", [stream(b"data: x\n\n", kind=None)]),
    *[(f"36 {kind}", [stream(LEAD + "data: ok…\n\n".encode(), kind=kind)]) for kind in
      ("text/event-stream;charset=utf-8", "TEXT/EVENT-STREAM", "text/event-stream;", "text/event-stream; charset=windows-1252", "text/event-streamx")],
    ("40 everything anew", [stream(LEAD + b"event: t\nid: 1\ndata: a\n\nevent: stale\ndata: half\n", "cut"), stream(b"\xef\xbb\xbfdata: b\n\n")]),
    ("byte order mark", [stream(b"\xef\xbb\xbfretry: 100\ndata: a\n\n")]),
    ("fields of all kinds", [stream(LEAD + b": c\ndata\n\ndata:a\ndata: b\ndata:  c\n\nevent:\ndata: d\n\nDATA: e\n\nfoo: f\ndata: g\rdata: h\r\n\r\n")]),
    ("bytes that are no UTF-8", [stream(LEAD + b"data: a\xff\xc3\xe2\x80z\n\n")]),
]

# Where the standard leaves it open, and where the browser does not do what it says: the case, and the reason.
OPEN = {
    "redirect loop": "open: a network error is tried again unless the client knows that to be futile (9.2.3, step 15.2); ssebench knows it of a loop",
}
DEVIATES = {
    "case 36 text/event-stream; charset=windows-1252":
        "the browser deviates: the type's essence is text/event-stream, and parameters play no part (9.2.3, step 15); Chromium refuses a charset that is not UTF-8",
}


def least_pause(name, number):
    """The reconnection time in force before reconnect `number` (from 0), in ms."""
    if "retry 0" in name:
        return 0
    if name == "retry 300":
        return 300 if number == 0 else RETRY
    return 250 if any(name.startswith(f"case {case}") for case in ("25", "26", "29")) else RETRY


NAMES = [name for name, _ in MOCK_CASES] + [f"case {name}" for name, _ in SCRIPT_CASES]
PAGE = """<!doctype html><meta charset="utf-8"><title>cases</title><script>
const paths = «paths», seen = paths.map(() => ({events: [], opens: 0, errors: 0, state: "waiting"}));
function watch(index) {
  return new Promise(done => {
    const one = seen[index], source = new EventSource(paths[index]);
    const finish = word => { one.state = word; source.close(); done(); };
    const timer = setTimeout(() => finish("open"), «limit»);
    const note = event => one.events.push([event.type, event.data, event.lastEventId]);
    source.onopen = () => one.opens++;
    for (const type of ["message", "status", "t", "stale", "error"]) source.addEventListener(type, event => {
      if (event instanceof MessageEvent) return note(event);
      one.errors++;
      if (source.readyState === EventSource.CLOSED) { clearTimeout(timer); finish("closed"); }
    });
  });
}
async function lane(next) { for (let i = next(); i < paths.length; i = next()) await watch(i); }
let at = 0; const next = () => at++;
// A browser opens six connections to a host.
Promise.all([1, 2, 3, 4, 5].map(() => lane(next))).then(() => fetch("/result", {method: "POST", body: JSON.stringify(seen)}));
</script>"""


class Relay(Listener):
    """Between one client and its mock: notes requests, passes bytes and endings on, answers what is scripted."""

    def __init__(self, upstream):
        self.upstream = int(upstream.rsplit(":", 1)[1])
        self.requests = {}  # by session: (Last-Event-ID or None, instant)
        self.ends = {}  # by session: instants at which an answer was over
        self.lock = threading.Lock()
        self.result, self.page = threading.Event(), b""
        self.seen = None
        super().__init__()
        self.url = f"http://127.0.0.1:{self.port}"

    def serve(self, client):
        held, upstream, session, tail = b"", None, None, b""
        try:
            while True:
                # Requests that are whole are answered or passed on.
                while b"\r\n\r\n" in held:
                    head, held = held.split(b"\r\n\r\n", 1)
                    path = head.split(b" ")[1].decode()
                    found = re.search(r"session=(\d+)", path)
                    if found is None:
                        self.own(client, head, held, path)
                        return
                    session = int(found[1])
                    number = self.note(session, head)
                    if session >= len(MOCK_CASES):
                        # Noted before it is sent: a pause is never measured too short.
                        self.over(session)
                        self.script(client, SCRIPT_CASES[session - len(MOCK_CASES)][1], number)
                        return
                    if upstream is None:
                        upstream = socket.create_connection(("127.0.0.1", self.upstream))
                    tail = b""
                    upstream.sendall(head + b"\r\n\r\n")
                ready, _, _ = select.select([client, upstream] if upstream else [client], [], [], 30)
                if client in ready:
                    data = client.recv(65536)
                    if not data:
                        return
                    held += data
                if upstream in ready:
                    data = upstream.recv(65536)
                    if not data:
                        self.over(session)
                        client.shutdown(socket.SHUT_WR)
                        # Whoever half-closes waits for the other side.
                        time.sleep(0.05)
                        return
                    tail = (tail + data)[-7:]
                    if tail.endswith(b"\r\n0\r\n\r\n"):
                        self.over(session)
                    client.sendall(data)
        except ConnectionResetError:
            self.over(session)
            # Closed with no time to linger, a socket sends a reset.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass
        finally:
            client.close()
            if upstream is not None:
                upstream.close()

    def own(self, client, head, held, path):
        """The page, and what it found out."""
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        while length and len(held) < int(length[1]):
            held += client.recv(65536)
        if path == "/result":
            self.seen = json.loads(held)
            self.result.set()
        body = self.page if path == "/page" else b""
        client.sendall(b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (
            b"200 OK" if path in ("/page", "/result") else b"404 Not Found", len(body), body))

    def note(self, session, head):
        sent = re.search(rb"(?im)^last-event-id:[ \t]*(.*?)\r?$", head)
        with self.lock:
            requests = self.requests.setdefault(session, [])
            requests.append((sent[1].decode("utf-8", "replace") if sent else None, time.monotonic()))
            return len(requests)

    def over(self, session):
        with self.lock:
            self.ends.setdefault(session, []).append(time.monotonic())

    @staticmethod
    def script(client, answers, number):
        status, kind, body, how = answers[number - 1] if number <= len(answers) else (204, None, b"", "end")
        head = f"HTTP/1.1 {status} x\r\nConnection: close\r\n" + (f"Content-Type: {kind}\r\n" if kind else "")
        if status == 204:
            client.sendall(head.encode() + b"\r\n")
            return
        chunk = b"%x\r\n%s\r\n" % (len(body), body) if body else b""
        client.sendall(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + chunk + (b"0\r\n\r\n" if how == "end" else b""))

    def close(self):
        self.socket.close()


def paths():
    for session in range(len(MOCK_CASES)):
        yield f"/events?session={session}&events={EVENTS}&interval=10ms&first=1ms&retry={RETRY}"
    for session in range(len(MOCK_CASES), len(NAMES)):
        yield f"/case?session={session}"


def mock_faults():
    for session, (_, list_of) in enumerate(MOCK_CASES):
        for one in list_of:
            yield json.loads(json.dumps({**one, "sessions": [session]}).replace("SESSION", str(session)))


def listen(url):
    done = subprocess.run(
        [SSEBENCH, "listen", url, "--reconnect", "whatwg", "--retry", "3s", "--for", f"{LIMIT}s"],
        capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    seen = {"events": [], "opens": 0, "errors": 0, "state": "open", "reason": ""}
    for line in filter(None, done.stdout.split("\n")):
        row = json.loads(line)
        if "event" in row:
            seen["events"].append([row["event"], row["data"], row["id"]])
        elif row.get("state") == "open":
            seen["opens"] += 1
        elif row.get("state") == "closed":
            seen["reason"] = row["reason"]
            seen["state"] = "open" if row["reason"] in ("duration", "time", "for", "limit") else "closed"
    return seen


def brief(seen, relay, session):
    with relay.lock:
        requests, ends = list(relay.requests.get(session, [])), list(relay.ends.get(session, []))
    pauses = []
    for header, instant in requests[1:]:
        before = [end for end in ends if end <= instant]
        if before:
            pauses.append((instant - before[-1]) * 1000)
    return {
        "events": [tuple(event) for event in seen["events"]], "ids": [header for header, _ in requests],
        "opens": seen["opens"], "state": seen["state"], "pauses": pauses}


def shown(facts):
    def number(event):
        try:
            return str(json.loads(event[1])["ssebench"]["n"])
        except (ValueError, KeyError, TypeError):
            return event[1].replace("\n", "⏎") or "(empty)"
    kinds = [("" if event[0] == "message" else event[0] + ":") + number(event) + (f"/{event[2]}" if number(event) != event[2] else "") for event in facts["events"]]
    ids = ["–" if one is None else one for one in facts["ids"]]
    if len(ids) > 15 and len(set(ids)) == 1:
        ids = [f"{ids[0]} × {len(ids)}"]
    return ", ".join(kinds) or "none", ", ".join(ids), facts["opens"], facts["state"], ", ".join(f"{pause:.0f}" for pause in facts["pauses"]) or "–"


def table(rows, browser):
    def cell(text):
        return str(text).replace("|", "\\|").replace("<", "&lt;").replace("\0", "␀")
    lines = [
        f"Both clients: what was dispatched (number or data, `/` the last event id where it is another), the `Last-Event-ID` of each request "
        f"(– is none), opens, the state at the end, and the pauses before each reconnect in ms. Browser: {browser}.", "",
        "| case | client | dispatched | Last-Event-ID by request | opens | state | pauses | verdict |",
        "| --- | --- | --- | --- | --: | --- | --- | --- |"]
    for name, theirs, ours, verdict in rows:
        for who, facts in (("browser", theirs), ("ssebench", ours)):
            dispatched, ids, opens, state, pauses = shown(facts)
            lines.append(f"| {cell(name) if who == 'browser' else ''} | {who} | {cell(dispatched)} | {cell(ids)} | {opens} | {state} | {pauses} | {cell(verdict) if who == 'browser' else ''} |")
    return "\n".join(lines) + "\n"


def main():
    browser = program("chromium", "chromium")
    version = subprocess.run([browser, "--version"], capture_output=True, text=True, timeout=60).stdout.split(" built")[0].strip()
    problems, rows = [], []
    flags = (*faults(*mock_faults()), "--text", "mixed", "--stamp", "off")
    with mock(*flags) as first, mock(*flags) as second, tempfile.TemporaryDirectory() as profile:
        theirs, ours = Relay(first), Relay(second)
        theirs.page = PAGE.replace("«paths»", json.dumps(list(paths()))).replace("«limit»", str(int(LIMIT * 1000))).encode()
        process = subprocess.Popen(
            [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
             "--disable-dev-shm-usage", "--no-proxy-server", f"--user-data-dir={profile}", f"{theirs.url}/page"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with concurrent.futures.ThreadPoolExecutor(5) as pool:
                heard = list(pool.map(lambda path: listen(ours.url + path), paths()))
            if not theirs.result.wait(240):
                sys.exit("the browser did not report in four minutes")
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(timeout=20)
        for session, name in enumerate(NAMES):
            a, b = brief(theirs.seen[session], theirs, session), brief(heard[session], ours, session)
            differ = [key for key in ("events", "ids", "opens", "state") if a[key] != b[key]]
            for who, facts in (("browser", a), ("ssebench", b)):
                for number, pause in enumerate(facts["pauses"]):
                    # A millisecond for the clock.
                    if pause < least_pause(name, number) - 1:
                        problems.append(f"{name}: {who} came back after {pause:.1f} ms, asked for {least_pause(name, number)}")
            if not differ:
                verdict = "agree"
            else:
                verdict = OPEN.get(name) or DEVIATES.get(name) or f"differ in {', '.join(differ)}"
                if name not in OPEN and name not in DEVIATES:
                    problems.append(f"{name}: {verdict}; browser {a}; ssebench {b}, {heard[session]['reason']}")
            rows.append((name, a, b, verdict))
        theirs.close()
        ours.close()
    text = table(rows, version)
    places = [os.path.join(ROOT, ".build/interop/recovery-browser.md")]
    if os.environ.get("KEEP"):
        places.append(os.path.join(ROOT, "Reports/recovery/browser.md"))
    for place in places:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w") as file:
            file.write(text)
    print(text)
    verdicts = [verdict for *_, verdict in rows]
    for problem in problems:
        print(f"failed: {problem[:1500]}")
    print(f"recovery_browser: {len(rows)} cases, {verdicts.count('agree')} agree, {sum(v in OPEN.values() for v in verdicts)} left open by the "
          f"standard, {sum(v in DEVIATES.values() for v in verdicts)} where the browser deviates from it, {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
