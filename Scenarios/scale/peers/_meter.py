# One client against one fresh server, watched from outside. In: a Peer, a Work. Out: a record of what the run cost and
# what really was sent. It trusts no client: CPU and memory come from the kernel, events and instants from the server.

import contextlib
import ctypes
import json
import os
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import _peers

TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
# What a client leaves behind comes to us, is counted, and is ended.
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
# A time limit from outside ends what was started too.
signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a time limit"))


def raise_descriptors():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def before(cores):
    def prepare():
        raise_descriptors()
        if cores:
            os.sched_setaffinity(0, cores)
    return prepare


def descendants(pid):
    """The process and all under it that live."""
    found, left = [], [pid]
    while left:
        pid = left.pop()
        found.append(pid)
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children") as file:
                    left += map(int, file.read().split())
    return found


def cpu_and_memory(pids):
    """CPU seconds, those of children that were waited for included, and resident bytes (shared pages count for each)."""
    cpu = memory = 0
    for pid in pids:
        with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as file:
            words = file.read().rpartition(")")[2].split()
            cpu += sum(map(int, words[11:15]))
            memory += int(words[21])
    return cpu / TICKS, memory * PAGE


def peak_memory(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def end_group(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


class Server:
    """The reference server (one event a write, or packed: 128) or ssebench's mock, a process of its own for one run."""

    def __init__(self, kind, work, installed, ssebench, log=None, cores=None):
        self.kind, self.socket = kind, None
        if kind == "mock":
            command = [ssebench, "mock", "--tokens", str(work.tokens), "--first-token", f"{work.first_ms}ms",
                       "--interval", f"{work.interval_ms}ms"]
        else:
            command = [os.path.join(installed, "bin", "refserver"), "-n", str(work.tokens), "-f", str(work.first_ms),
                       "-i", str(work.interval_ms)] + (["-l", log] if log else [])
            if kind == "refserver-packed":
                command += ["-c", "128"]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, start_new_session=True, preexec_fn=before(cores))
        line = self.process.stdout.readline() if select.select([self.process.stdout], [], [], 20)[0] else None
        if not line:
            end_group(self.process)
            raise RuntimeError(f"the {kind} did not start")
        self.base = json.loads(line)["listening"]

    def _get(self, path):
        host, port = self.base.removeprefix("http://").split(":")
        for _ in range(2):
            try:
                if not self.socket:
                    self.socket = socket.create_connection((host, int(port)), 5)
                self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                answer = b""
                while b"\r\n\r\n" not in answer:
                    answer += self._more()
                head, _, body = answer.partition(b"\r\n\r\n")
                length = int(re.search(rb"(?i)content-length: *(\d+)", head).group(1))
                while len(body) < length:
                    body += self._more()
                return body.decode()
            except OSError:
                self.socket = None
        return None

    def _more(self):
        piece = self.socket.recv(65536)
        if not piece:
            raise OSError("closed")
        return piece

    def counts(self):
        """Token events, writes, streams, and the most connections at once, ours left out; None when it does not answer."""
        text = self._get("/metrics" if self.kind == "mock" else "/stats")
        if text is None:
            return None
        if self.kind == "mock":
            values = dict(re.findall(r"^ssebench_mock_(\w+) ([\d.e+-]+)$", text, re.MULTILINE))
            streams = int(values["streams_total"])
            # The mock counts the event that ends a stream too, the reference server does not.
            return {"events": int(values["events_total"]) - streams, "writes": int(values["writes_total"]),
                    "streams": streams, "most_live": None}
        values = json.loads(text)
        return {"events": values["events"], "writes": values["writes"], "streams": values["streams"],
                "most_live": max(values["most_active"] - 1, 0)}

    def cpu(self):
        return cpu_and_memory(descendants(self.process.pid))[0]

    def end(self):
        if self.socket:
            self.socket.close()
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            end_group(self.process)
            self.process.wait()
        self.process.stdout.close()


def percentiles(values):
    if not values:
        return None
    values = sorted(values)
    return {name: values[round(q * (len(values) - 1))] for name, q in (("p50", .5), ("p90", .9), ("p99", .99), ("max", 1))}


class WireLog:
    """The reference server's log: what each stream really was, in the order of the requests."""

    def __init__(self, path):
        self.streams = []
        with open(path) as file:
            for line in file:
                _, requested, complete, *sent = map(int, line.split(","))
                self.streams.append((requested, complete, sent))
        self.streams.sort()

    def figures(self):
        gaps = [(b - a) / 1e6 for _, _, sent in self.streams for a, b in zip(sent, sent[1:])]
        return {"streams": len(self.streams), "complete": sum(complete for _, complete, _ in self.streams),
                "tokens": sum(len(sent) for _, _, sent in self.streams),
                "ttft_ms": percentiles([(sent[0] - requested) / 1e6 for requested, _, sent in self.streams if sent]),
                "itl_ms": percentiles(gaps)}


def window(samples):
    """Of the samples (seconds, events, client CPU, server CPU): what lay between 20 % and 80 % of the events."""
    events = samples[-1][1] if samples else 0
    inside = [s for s in samples if 0.2 * events <= s[1] <= 0.8 * events]
    if len(inside) < 2 or inside[-1][1] == inside[0][1]:
        return None
    first, last = inside[0], inside[-1]
    count = last[1] - first[1]
    return {"seconds": last[0] - first[0], "events": count, "cpu_s_per_million": (last[2] - first[2]) / count * 1e6,
            "server_cpu_s_per_million": (last[3] - first[3]) / count * 1e6}


def run(peer, work, settings, server_kind="refserver", keep=None):
    """A record of one run. `keep(place, server_log)` sees the run's files before they go."""
    folder = tempfile.mkdtemp(prefix="ssebench-peers-")
    try:
        log = os.path.join(folder, "wire.csv") if server_kind == "refserver" and work.interval_ms else None
        server = Server(server_kind, work, settings.peers_folder, settings.ssebench, log, settings.server_cores)
        client_folder = os.path.join(folder, "client")
        os.mkdir(client_folder)
        place = _peers.Place(server.base, client_folder, settings.peers_folder, settings.ssebench)
        record = {"peer": peer.name, "server": server_kind, "live": work.live, "requests": work.requests, "tokens": work.tokens,
                  "first_ms": work.first_ms, "interval_ms": work.interval_ms,
                  "ramp_s": work.ramp_s if peer.name.startswith("ssebench") else 0, "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
        try:
            record.update(_watch(peer, work, place, server, settings))
        finally:
            server.end()
        if log:
            wire = WireLog(log)
            record["wire"] = wire.figures()
            if keep:
                record.update(keep(place, wire))
        elif keep:
            record.update(keep(place, None))
        return record
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _watch(peer, work, place, server, settings):
    environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    environment.update(_peers.ENVIRONMENT, **peer.environment(work))
    if not peer.keeps_hub_offline:
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"):
            environment.pop(name, None)
    output_path = os.path.join(place.folder, "output.txt")
    limit = work.stream_s * max(1, work.requests / work.live) + work.ramp_s + settings.limit
    samples, peak, processes, killed, used = [], 0, 0, False, []
    mine = os.getpid()
    with open(output_path, "w") as output:
        begun = time.monotonic()
        client = subprocess.Popen(peer.command(work, place), cwd=place.folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                  stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=before(settings.client_cores))

    def tree():
        # Orphans have become children of ours.
        return [pid for pid in descendants(mine) if pid != mine and pid != server.process.pid]

    try:
        while True:
            pid, status, usage = os.wait4(client.pid, os.WNOHANG)
            if pid:
                client.returncode = os.waitstatus_to_exitcode(status)
                used.append(usage.ru_utime + usage.ru_stime)
                break
            now = time.monotonic() - begun
            if now > limit:
                killed = True
                end_group(client)
                time.sleep(0.1)
                continue
            counts, pids = server.counts(), tree()
            cpu, memory = cpu_and_memory(pids)
            peak, processes = max(peak, memory, peak_memory(pids[0]) if len(pids) == 1 else 0), max(processes, len(pids))
            if counts:
                samples.append((time.monotonic() - begun, counts["events"], cpu, server.cpu()))
            time.sleep(settings.poll)
        wall = time.monotonic() - begun
    except BaseException:
        end_group(client)
        raise
    finally:
        for _ in range(50):
            left = tree()
            if not left:
                break
            for pid in left:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(OSError):
                    ended, _, usage = os.wait4(pid, os.WNOHANG)
                    if ended:
                        used.append(usage.ru_utime + usage.ru_stime)
            time.sleep(0.02)
    counts = server.counts() or {"events": 0, "writes": 0, "streams": 0, "most_live": None}
    record = {"exit_code": client.returncode, "killed": killed, "wall_s": wall, "cpu_s": sum(used), "peak_rss_bytes": peak,
              "processes": processes, "events": counts["events"], "streams": counts["streams"], "most_live": counts["most_live"],
              "events_per_write": counts["events"] / counts["writes"] if counts["writes"] else None, "window": window(samples),
              "cpu_s_per_million": sum(used) / counts["events"] * 1e6 if counts["events"] else None,
              "server_cpu_s_per_million": server.cpu() / counts["events"] * 1e6 if counts["events"] else None}
    if not killed:
        try:
            with open(output_path, errors="replace") as file:
                record["reported"] = peer.report(place, file.read())
        except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError) as problem:
            # Its words may name files of this machine: the kind is enough.
            record["unreadable"] = type(problem).__name__
        if settings.verbose and (client.returncode or "unreadable" in record):
            with open(output_path, errors="replace") as file:
                print(file.read()[-3000:], file=sys.stderr)
    return record
