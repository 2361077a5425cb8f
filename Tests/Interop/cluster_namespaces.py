#!/usr/bin/env python3
"""Four hosts on one machine, in network namespaces, with clocks that are seconds apart (faked in each process).

All reach one mock; each measures its clock against it, and one way there is slow. The offset that is measured must be the
true one within the uncertainty that is stated, and in the merged run every session must stand at its true time within
that. The same with a server that says whole seconds only (`Date`). Then one shard comes late.

Needs: root (network namespaces), iproute2.
"""

import csv
import http.server
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from _cluster import DONE, SESSIONS, SSEBENCH, call, fail, load, report, rows, scenario, skip

#: Seconds by which each host's clock is set off.
OFFSETS = [0.0, 2.5, -1.75, 40.125]
NAME = f"sse{os.getpid()}"
HUB = f"{NAME}hub"
ADDRESS = "10.77.0.1"


class Network:
    """A bridge in a namespace of its own, and a namespace with a cable to it for each host."""

    def __init__(self, hosts):
        self.spaces = [HUB] + [f"{NAME}h{number}" for number in range(hosts)]

    def ip(self, *words):
        result = call("ip", *words)
        if result.returncode != 0:
            raise OSError(f"ip {' '.join(words)}: {result.stderr.strip()}")

    def __enter__(self):
        try:
            for space in self.spaces:
                self.ip("netns", "add", space)
                self.ip("-n", space, "link", "set", "lo", "up")
            self.ip("-n", HUB, "link", "add", "br0", "type", "bridge")
            self.ip("-n", HUB, "addr", "add", f"{ADDRESS}/24", "dev", "br0")
            self.ip("-n", HUB, "link", "set", "br0", "up")
            for number, space in enumerate(self.spaces[1:]):
                self.ip("-n", HUB, "link", "add", f"p{number}", "type", "veth", "peer", "name", "eth0", "netns", space)
                self.ip("-n", HUB, "link", "set", f"p{number}", "master", "br0", "up")
                self.ip("-n", space, "addr", "add", f"10.77.0.{10 + number}/24", "dev", "eth0")
                self.ip("-n", space, "link", "set", "eth0", "up")
        except OSError as error:
            self.__exit__()
            skip(f"no network namespaces here: {error}")
        return self

    def slow(self, number, milliseconds):
        """Whether the host's way out could be made slow."""
        words = ("tc", "-n", self.spaces[1 + number], "qdisc", "add", "dev", "eth0", "root", "netem", "delay", f"{milliseconds}ms")
        return shutil.which("tc") is not None and call(*words).returncode == 0

    def __exit__(self, *_):
        for space in self.spaces:
            call("ip", "netns", "del", space)

    def start(self, space, *words, name=None, **environment):
        # A name of its own, as hosts have.
        inside = ["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', name or space]
        return subprocess.Popen(
            ["ip", "netns", "exec", space, *inside, *words], env=dict(os.environ, **environment), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run_shards(network, path, folder, clock=None, late=None):
    """Runs every shard at one time; `late` comes six seconds after it."""
    # A busy machine needs longer to bring them up.
    start = math.ceil(time.time() + 9 + os.getloadavg()[0])
    started = []
    for number, offset in enumerate(OFFSETS):
        words = [SSEBENCH, "run", path, "--out", folder + "/{shard}", "--shard", f"{number}/{len(OFFSETS)}", "--start-at", str(start)]
        words += ["--yes", "--quiet"] + (["--clock", clock] if clock else [])
        if number == late:
            time.sleep(max(0, start + 6 - time.time()))
        space = network.spaces[1 + number]
        started.append(network.start(space, *words, name=f"host{number}", SSEBENCH_TEST_CLOCK_OFFSET=str(offset)))
    for process in started:
        output, errors = process.communicate(timeout=120)
        if process.returncode not in DONE:
            fail("a shard ended with", process.returncode, output, errors)
    return [f"{folder}/{number}" for number in range(len(OFFSETS))]


def check_offsets(shards, what, problems):
    """Each host knows how far its clock is off, within what it says; answers the uncertainties in ns."""
    uncertainties = []
    for folder, true in zip(shards, OFFSETS):
        clock = load(folder)["machine"]["clock"]
        if clock is None:
            fail(f"{what}: {folder} measured no clock: {load(folder)['warnings']}")
        error = abs(clock["offset_ms"] - true * 1e3)
        print(f"  {what}: set off by {true * 1e3:.3f} ms, measured {clock['offset_ms']:.3f} ± {clock['uncertainty_ms']:.3f} ms"
              f" from {clock['samples']} answers ({clock['source']})")
        if error > clock["uncertainty_ms"]:
            problems.append(f"{what}: {folder} is {error:.3f} ms off, and states ± {clock['uncertainty_ms']} ms")
        uncertainties.append(clock["uncertainty_ms"] * 1e6)
    return uncertainties


def check_alignment(shards, merged, uncertainties, what, problems):
    """Sessions of the merged run stand at their true times. All processes share one true clock: the host's less its offset."""
    begun = [load(f, "record.json")["run"]["load_starts"][0]["at_ns"] - o * 1e9 for f, o in zip(shards, OFFSETS)]
    first = min(begun)
    base = uncertainties[begun.index(first)]
    at = {int(row["session"]): int(row["request_start_ns"]) for row in rows(merged)}
    worst = 0
    for folder, true_begin, uncertainty in zip(shards, begun, uncertainties):
        for row in rows(folder):
            true = true_begin - first + int(row["request_start_ns"])
            error = abs(at[int(row["session"])] - true)
            worst = max(worst, error)
            # The first one by the measured clocks may be another than the true first one.
            if error > uncertainty + max(base, max(uncertainties)) + 1e6:
                problems.append(f"{what}: session {row['session']} is {error / 1e6:.3f} ms from its true time")
                return
    summary = load(merged)
    stated = summary["run"]["alignment"]["clock_uncertainty_ms"]
    print(f"  {what}: sessions within {worst / 1e6:.3f} ms of their true times; stated ± {stated} ms a host; lag {summary['run']['alignment']['lag_s']} s")
    if sorted(at) != list(range(SESSIONS)):
        problems.append(f"{what}: {len(at)} sessions of {SESSIONS}")
    if any(w["code"] == "started_late" for w in summary["warnings"]):
        problems.append(f"{what}: shards that began together are called late")
    with open(merged + "/timeseries.csv", newline="") as file:
        seconds = [row for row in csv.DictReader(file)]
    if len(seconds) > 30 or sum(int(row["started"]) for row in seconds) != SESSIONS:
        problems.append(f"{what}: {len(seconds)} seconds with {sum(int(r['started']) for r in seconds)} starts: not aligned")


def check_late(shards, merged, code, problems):
    own = [w["code"] for w in load(shards[2])["warnings"]]
    if "late_start" not in own:
        problems.append(f"the late shard does not say so: {own}")
    summary = load(merged)
    reasons = " ".join(summary["verdict_reasons"])
    if code != 3 or summary["verdict"] != "invalid" or not re.search(r"Shards? [\d, ]*\b2\b[\d, ]* began up to", reasons):
        problems.append(f"the merged run with a late shard: exit {code}, {summary['verdict']}, {reasons}")
    print(f"  late shard: {re.sub(r'^.*(?=Shards? .* began)', '', reasons)[:150]}")


class DateServer(http.server.BaseHTTPRequestHandler):
    """Says the time as every web server does."""

    def do_GET(self):
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "date-server":
        server = http.server.ThreadingHTTPServer((ADDRESS, 0), DateServer)
        print(server.server_address[1], flush=True)
        server.serve_forever()
    if os.geteuid() != 0:
        skip("not root: network namespaces cannot be made")
    for program in ("ip", "unshare"):
        if shutil.which(program) is None:
            skip(f"there is no {program}; install iproute2 and util-linux")
    problems = []
    with tempfile.TemporaryDirectory() as folder, Network(len(OFFSETS)) as network:
        mock = network.start(
            HUB, SSEBENCH, "mock", "--listen", f"{ADDRESS}:0", "--tokens", "40", "--first-token", "30ms", "--interval", "20ms")
        date = network.start(HUB, sys.executable, os.path.abspath(__file__), "date-server")
        try:
            url = json.loads(mock.stdout.readline())["listening"]
            port = date.stdout.readline().strip()
            print(f"  one way is slow: {network.slow(3, 20)}")
            path = scenario(
                folder, endpoint={"url": f"{url}/v1/chat/completions", "api": "openai-chat"}, request={"max_tokens": 40})
            for what, clock in (("mock", None), ("Date", f"http://{ADDRESS}:{port}/")):
                out = os.path.join(folder, what)
                shards = run_shards(network, path, out, clock)
                uncertainties = check_offsets(shards, what, problems)
                result = call(SSEBENCH, "merge", *shards, "--out", out + "/merged")
                if result.returncode not in DONE:
                    fail("merge ended with", result.returncode, result.stdout, result.stderr)
                check_alignment(shards, out + "/merged", uncertainties, what, problems)
            out = os.path.join(folder, "late")
            shards = run_shards(network, path, out, late=2)
            result = call(SSEBENCH, "merge", *shards, "--out", out + "/merged")
            check_late(shards, out + "/merged", result.returncode, problems)
        finally:
            for process in (mock, date):
                process.terminate()
                process.wait(timeout=20)
    return report("cluster_namespaces", problems)


if __name__ == "__main__":
    sys.exit(main())
