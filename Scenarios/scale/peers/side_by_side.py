#!/usr/bin/env python3
"""The same work with ssebench and with other clients, one after the other, against one reference server; and what each said,
cost and got wrong, as results.jsonl and README.md.

  side_by_side.py --install                          the clients, each in an environment of its own (some GB)
  side_by_side.py                                    1,000, 5,000 and 10,000 sessions with every client that is there
  side_by_side.py --mode cost --repeats 7            CPU per million events, in turn
  side_by_side.py --mode agreement                   ssebench and the reference server's log; the C client and the mock
  side_by_side.py --sizes 1000 --peers ssebench-raw truth wrk --repeats 3
  side_by_side.py --mode render                      README.md again, from results.jsonl
"""

import argparse
import csv
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

import _meter
import _peers
import _tables

ROOT = os.path.abspath(os.path.join(_peers.HERE, "..", "..", ".."))
SIZES = (1000, 5000, 10000)

# (client, server) in turn. The truth client with the mock shows what the mock costs against the reference server; unpaced
# the mock packs a turn's events into one write, and so does the reference server there.
COST = {
    "paced": [("truth", "refserver"), ("ssebench-raw", "refserver"), ("ssebench-curl", "refserver"), ("sglang-rust", "refserver"),
              ("truth", "mock")],
    "unpaced": [("wrk", "refserver"), ("ssebench-raw", "refserver"), ("ssebench-curl", "refserver"), ("sglang-rust", "refserver"),
                ("wrk", "refserver-packed"), ("ssebench-raw", "refserver-packed"), ("ssebench-curl", "refserver-packed"),
                ("sglang-rust", "refserver-packed"), ("truth", "refserver-packed"), ("truth", "mock")],
}
# What, of which kind, over what, at most (None: for comparison); and whose CPU it is.
LIMITS = [
    ("`raw` ÷ minimal C client, paced", "paced", ("ssebench-raw", "refserver"), ("truth", "refserver"), 1.5, "cpu_s_per_million"),
    ("`curl` ÷ minimal C client, paced", "paced", ("ssebench-curl", "refserver"), ("truth", "refserver"), 2.5, "cpu_s_per_million"),
    ("`raw` ÷ SGLang's Rust client, paced", "paced", ("ssebench-raw", "refserver"), ("sglang-rust", "refserver"), 0.5, "cpu_s_per_million"),
    ("`raw` ÷ wrk, unpaced", "unpaced", ("ssebench-raw", "refserver"), ("wrk", "refserver"), 2, "cpu_s_per_million"),
    ("`raw` ÷ SGLang's Rust client, unpaced", "unpaced", ("ssebench-raw", "refserver"), ("sglang-rust", "refserver"), 0.5, "cpu_s_per_million"),
    ("wrk, which parses nothing, ÷ SGLang's Rust client, unpaced", "unpaced", ("wrk", "refserver"), ("sglang-rust", "refserver"), None, "cpu_s_per_million"),
    ("`raw` ÷ SGLang's Rust client, unpaced, 128 events a write", "unpaced", ("ssebench-raw", "refserver-packed"), ("sglang-rust", "refserver-packed"), 0.5, "cpu_s_per_million"),
    ("the mock ÷ the reference server, paced", "paced", ("truth", "mock"), ("truth", "refserver"), 1, "server_cpu_s_per_million"),
    ("the mock ÷ the reference server, unpaced", "unpaced", ("truth", "mock"), ("truth", "refserver-packed"), 1, "server_cpu_s_per_million"),
]


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def cores(text):
    return {int(word) for word in text.split(",")} if text else None


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--mode", choices=("scale", "cost", "agreement", "render"), default="scale", help="default: scale")
    add("--install", nargs="*", metavar="PEER", help="install these clients (default: all, GuideLLM last), and end")
    add("--install-limit", type=float, default=300, metavar="S", help="seconds for one client's installation (default 300)")
    add("--peers", nargs="+", metavar="PEER", choices=list(_peers.PEERS), default=list(_peers.PEERS),
        help="default: all of " + " ".join(_peers.PEERS))
    add("--sizes", nargs="+", type=int, default=list(SIZES), metavar="N", help="sessions; default 1000 5000 10000")
    add("--repeats", type=int, default=None, metavar="N", help="runs of each, or rounds; default 1, in the mode cost 5")
    add("--tokens", type=int, default=None, metavar="N", help="tokens a stream; default 128, paced in the mode cost 256")
    add("--first-ms", type=float, default=200, metavar="MS", help="request → first token (default 200)")
    add("--interval-ms", type=float, default=None, metavar="MS",
        help="between two tokens; default: as Scenarios/scale/N.json says for that size, else 50")
    add("--ramp-s", type=float, default=0, metavar="S",
        help="ssebench spreads its starts over so long; the others know no ramp (default 0: all at once, as they do)")
    add("--live", type=int, default=2500, metavar="N", help="cost: paced sessions (default 2500); agreement: at most 800")
    add("--connections", type=int, default=64, metavar="N", help="cost: unpaced connections (default 64)")
    add("--streams", type=int, default=20000, metavar="N", help="cost: unpaced streams in all (default 20000; wrk runs 6 s)")
    add("--limit", type=float, default=120, metavar="S", help="seconds that a run may take beyond its streams (default 120)")
    add("--pause", type=float, default=2, metavar="S", help="seconds between two runs (default 2)")
    add("--poll", type=float, default=0.2, metavar="S", help="between two looks at a run (default 0.2)")
    add("--server-cores", type=cores, metavar="0,1", help="keep the server on these cores (default: all)")
    add("--client-cores", type=cores, metavar="0,1", help="keep the client on these cores (default: all)")
    add("--out", default=os.path.join(ROOT, "Reports", "peers"), metavar="FOLDER",
        help="results.jsonl is added to, README.md written anew (default Reports/peers)")
    add("--fresh", action="store_true", help="forget the results of this mode that are in the folder")
    add("--peers-folder", default=os.environ.get("PEERS", os.path.join(ROOT, ".build", "peers")), metavar="FOLDER",
        help="where the clients are installed (default $PEERS, else .build/peers)")
    add("--ssebench", default=os.environ.get("SSEBENCH", os.path.join(ROOT, ".build", "release", "ssebench")), metavar="PROGRAM",
        help="default $SSEBENCH, else .build/release/ssebench")
    add("--verbose", action="store_true", help="print the output of a client that failed")
    settings = parser.parse_args()
    settings.peers_folder = os.path.abspath(settings.peers_folder)
    settings.ssebench = os.path.abspath(settings.ssebench)
    return settings


# ---- Installing

def interpreter(name):
    found = [shutil.which(name), *sorted(glob.glob(os.path.expanduser(f"~/.pyenv/versions/*/bin/{name}")))]
    for path in filter(None, found):
        if subprocess.run([path, "--version"], capture_output=True).returncode == 0:
            return path
    return None


def within(seconds, command):
    """Whether it ended well in time. What it started ends with it."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        return process.wait(max(seconds, 1)) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        _meter.end_group(process)


def install(settings):
    names = settings.install or sorted(_peers.PEERS, key=lambda name: name == "guidellm")
    os.makedirs(settings.peers_folder, exist_ok=True)
    for name in names:
        peer = _peers.PEERS[name]
        end = time.monotonic() + settings.install_limit
        if not peer.missing(settings.peers_folder, settings.ssebench):
            say(f"{name}: there")
            continue
        if isinstance(peer, _peers.Program):
            done = within(settings.install_limit, ["apt-get", "install", "-y", "-qq", "--no-install-recommends", peer.package])
        elif peer.requirements:
            python = interpreter(peer.python)
            folder = os.path.dirname(os.path.dirname(peer.interpreter(settings.peers_folder)))
            done = bool(python) and within(settings.install_limit, [python, "-m", "venv", folder])
            for words in peer.requirements:
                done = done and within(end - time.monotonic(), [f"{folder}/bin/pip", "-q", "--disable-pip-version-check", "install", *words])
        else:
            done = False
        say(f"{name}: {'installed' if done else 'could not be installed'}")
    tokenizer(settings)


def tokenizer(settings):
    """The folder of the tokenizer, made by the first environment that can."""
    folder = os.path.join(settings.peers_folder, "tokenizer")
    if os.path.exists(os.path.join(folder, "config.json")):
        return
    for python in sorted(glob.glob(os.path.join(settings.peers_folder, "*", "bin", "python"))):
        if subprocess.run([python, os.path.join(_peers.HERE, "tokenizer.py"), folder], capture_output=True,
                          timeout=120).returncode == 0:
            return


def compile_programs(settings):
    os.makedirs(os.path.join(settings.peers_folder, "bin"), exist_ok=True)
    for name in ("refserver", "truthclient"):
        source, program = os.path.join(_peers.HERE, name + ".c"), os.path.join(settings.peers_folder, "bin", name)
        if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
            subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-o", program, source], check=True, timeout=120)


# ---- Results

def machine(settings):
    model = "?"
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return {"system": f"{os.uname().sysname} {os.uname().release.split('-')[0]}", "processor": model, "cores": os.cpu_count(),
            "memory_gib": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30)}


class Results:
    def __init__(self, settings):
        self.folder, self.path = settings.out, os.path.join(settings.out, "results.jsonl")
        os.makedirs(self.folder, exist_ok=True)
        self.records = []
        if os.path.exists(self.path):
            with open(self.path) as file:
                self.records = [json.loads(line) for line in file if line.strip()]
        if settings.fresh:
            self.records = [r for r in self.records if r["mode"] != settings.mode]
            with open(self.path, "w") as file:
                file.writelines(json.dumps(r) + "\n" for r in self.records)

    def add(self, record):
        self.records.append(record)
        with open(self.path, "a") as file:
            file.write(json.dumps(rounded(record)) + "\n")

    def of(self, mode):
        return [r for r in self.records if r["mode"] == mode]

    def render(self):
        runs = [r for r in self.records if r["mode"] != "skip"]
        skipped = {r["peer"]: r["reason"] for r in self.records if r["mode"] == "skip"}
        for name in {r["peer"] for r in runs}:
            skipped.pop(name, None)
        versions = {r["peer"]: r["version"] for r in runs}
        machines = list(dict.fromkeys(json.dumps(r["machine"], sort_keys=True) for r in runs))
        dates = sorted(r["at"][:10] for r in runs)
        parts = ["# Side by side\n", "Written by `Scenarios/scale/peers/side_by_side.py`; each run is a line of `results.jsonl`.\n"]
        for text in machines:
            m = json.loads(text)
            parts.append(f"Measured {dates[0] if dates[0] == dates[-1] else dates[0] + ' to ' + dates[-1]} on {m['cores']} cores of "
                         f"{m['processor']}, {m['memory_gib']} GiB, {m['system']}, loopback only.\n")
        # Two clients of one package, or one program, are named once.
        named = dict.fromkeys(f"{_peers.PEERS[n].package} {versions[n]}" for n in _peers.PEERS if versions.get(n))
        parts.append("Versions: " + ", ".join(named) + ".\n")
        if skipped:
            parts.append("Not run: " + ", ".join(f"{_peers.PEERS[n].title} ({reason})" for n, reason in skipped.items()) + ".\n")
        if self.of("cost"):
            parts += ["## CPU, in turn\n", _tables.cost(self.of("cost"), limits(self.of("cost")))]
        if self.of("scale"):
            parts += ["## The same work\n", _tables.scale(self.of("scale"), skipped)]
        if self.of("agreement"):
            parts += ["## Agreement\n", _tables.agreement(self.of("agreement"))]
        with open(os.path.join(self.folder, "README.md"), "w") as file:
            file.write("\n".join(parts))


def rounded(value):
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    return value


def limits(records):
    rows = []
    for what, kind, over, under, at_most, key in LIMITS:
        ratios = []
        for number in sorted({r["round"] for r in records}):
            values = [[r["window"][key] for r in records if r["kind"] == kind and r["round"] == number
                       and (r["peer"], r["server"]) == pair and r["window"] and not _tables.outcome(r)] for pair in (over, under)]
            if values[0] and values[1] and values[1][-1]:
                ratios.append(values[0][-1] / values[1][-1])
        rows.append({"what": what, "ratios": ratios, "at_most": at_most})
    return rows


# ---- Modes

def measure(results, settings, mode, name, work, about, server="refserver", keep=None, finish=None, **words):
    say(f"{time.strftime('%X')} {name}, {work.live} of {work.requests} × {work.tokens}, {server}")
    record = _meter.run(_peers.PEERS[name], work, settings, server, keep)
    record = {"mode": mode, **words, **record, "version": about["versions"][name], "machine": about["machine"]}
    say("   ", _tables.outcome(record) or f"{record['wall_s']:.1f} s, {record['events']:,} events, "
        f"{record['cpu_s_per_million'] or 0:.1f} CPU s per million, {record['peak_rss_bytes'] / 1e6:.0f} MB")
    if finish:
        record.update(finish(record))
    results.add(record)
    time.sleep(settings.pause)
    return record


def pace_of(size, settings):
    """The interval of Scenarios/scale/SIZE.json, so that one file says what the work is."""
    if settings.interval_ms is not None:
        return settings.interval_ms
    path = os.path.join(_peers.HERE, "..", f"{size}.json")
    if not os.path.exists(path):
        return 50
    with open(path) as file:
        return float(json.load(file)["endpoint"]["mock"]["interval"].removesuffix("ms"))


def scale(results, settings, names, about):
    for number in range(settings.repeats or 1):
        for size in settings.sizes:
            work = _peers.Work(size, size, settings.tokens or 128, settings.first_ms, pace_of(size, settings), settings.ramp_s)
            for name in turned(names, number):
                measure(results, settings, "scale", name, work, about, round=number)


def turned(names, number):
    """Another first in each round, and back again in every other one: drift falls on all alike."""
    names = names[number % len(names):] + names[:number % len(names)] if names else names
    return names[::-1] if number % 2 else names


def cost(results, settings, names, about):
    works = {"paced": _peers.Work(settings.live, settings.live, settings.tokens or 256, settings.first_ms, settings.interval_ms or 50),
             "unpaced": _peers.Work(settings.connections, settings.streams, 128, 0, 0)}
    first = max((r["round"] for r in results.of("cost")), default=-1) + 1
    for number in range(first, first + (settings.repeats or 5)):
        for kind, pairs in COST.items():
            for name, server in turned([pair for pair in pairs if pair[0] in names], number):
                measure(results, settings, "cost", name, works[kind], about, server, round=number, kind=kind)
    for limit in limits(results.of("cost")):
        if limit["ratios"]:
            median = statistics.median(limit["ratios"])
            if limit["at_most"] is None:
                print(f"       {limit['what']}: {_tables.cell(limit['ratios'], 2)}")
                continue
            print(f"{'holds' if median <= limit['at_most'] else 'BROKEN'}  {limit['what']}: {_tables.cell(limit['ratios'], 2)}, "
                  f"at most {limit['at_most']:g}")


def far(figures):
    """Each percentile that lies further off than is allowed."""
    return [f"{what} {q} {f[q]:.2f} ms apart" for what, f in figures.items() for q, most in _tables.AGREE.items()
            if f and f.get(q) is not None and f[q] > most]


def with_log(place, wire):
    """ssebench's sessions.csv against the reference server's log, session by session: both in the order of the requests."""
    if not os.path.exists(place.file("run/sessions.csv")):
        return {}
    with open(place.file("run/sessions.csv"), newline="") as file:
        sessions = [row for row in csv.DictReader(file) if row["request_sent_ns"] and row["last_token_ns"]]
    sessions.sort(key=lambda row: int(row["request_sent_ns"]))
    variant = _peers.load(place.file("run/summary.json"))["variants"][0]
    figures, problems = wire.figures(), []
    client_tokens = sum(int(row["tokens"]) for row in sessions)
    if len(sessions) != figures["streams"] or client_tokens != figures["tokens"]:
        problems.append(f"{len(sessions)} sessions of {figures['streams']}, {client_tokens} tokens of {figures['tokens']}")
    # Without the mock's numbers ssebench has no ledger; the log has the tokens of each stream.
    if variant["recovery"] and any(variant["recovery"][key] for key in ("lost", "duplicated", "reordered", "corrupted")):
        problems.append("events lost, doubled or damaged")
    ttft, span, gap = [], [], []
    for row, (requested, _, sent) in zip(sessions, wire.streams):
        at = {key: int(row[key + "_ns"]) for key in ("request_sent", "first_token", "last_token", "max_gap")}
        ttft.append(abs(at["first_token"] - at["request_sent"] - (sent[0] - requested)) / 1e6)
        span.append(abs(at["last_token"] - at["first_token"] - (sent[-1] - sent[0])) / 1e6)
        gap.append(abs(at["max_gap"] - max((b - a for a, b in zip(sent, sent[1:])), default=0)) / 1e6)
    itl = {q: abs(variant["itl_ms"][q] - figures["itl_ms"][q]) if variant["itl_ms"].get(q) is not None else None for q in ("p50", "p99")}
    errors = {"TTFT": _meter.percentiles(ttft), "first → last token": _meter.percentiles(span), "ITL": itl}
    return {"agreement": {
        "client_tokens": client_tokens, "server_tokens": figures["tokens"], "ttft_client_ms": variant["ttft_ms"],
        "ttft_server_ms": figures["ttft_ms"], "ttft_error_ms": errors["TTFT"], "itl_client_ms": variant["itl_ms"],
        "itl_server_ms": figures["itl_ms"], "itl_error_ms": itl, "itl_error_is": "difference of the percentiles",
        "span_error_ms": errors["first → last token"], "max_gap_error_ms": _meter.percentiles(gap),
        "problems": problems + far(errors)}}


def truth_agreement(record):
    """The C client against the stamps in the events and the server's own count."""
    truth, problems = (record.get("reported") or {}).get("truth"), []
    if not truth:
        return {}
    server = record["events"]
    if truth["tokens"] != server or truth["completed"] != record["requests"]:
        problems.append(f"{truth['completed']} streams of {record['requests']}, {truth['tokens']} tokens of {server}")
    wire = record.get("wire")
    return {"agreement": {
        "client_tokens": truth["tokens"], "server_tokens": server, "ttft_client_ms": truth["ttft_ms"],
        "ttft_server_ms": wire["ttft_ms"] if wire else truth["stamp_ttft_ms"], "ttft_error_ms": truth["ttft_error_ms"],
        "itl_client_ms": truth["itl_ms"], "itl_server_ms": wire["itl_ms"] if wire else truth["stamp_itl_ms"],
        "itl_error_ms": truth["itl_error_ms"], "itl_error_is": "gap by gap",
        "problems": problems + far({"TTFT": truth["ttft_error_ms"], "ITL": truth["itl_error_ms"]})}}


def agreement(results, settings, names, about):
    # ssebench's starts lie 5 ms apart, so that both sides know the order of the requests.
    live = min(settings.live, 800)
    work = _peers.Work(live, live, settings.tokens or 128, settings.first_ms, settings.interval_ms or 50, live * 0.005)
    apart = True
    for number in range(settings.repeats or 1):
        for name, server in (("truth", "refserver"), ("truth", "mock"), ("ssebench-raw", "refserver"), ("ssebench-curl", "refserver")):
            if name not in names:
                continue
            keep, finish = (None, truth_agreement) if name == "truth" else (with_log, None)
            record = measure(results, settings, "agreement", name, work, about, server, keep, finish, round=number)
            problems = record["agreement"]["problems"] if record.get("agreement") else [_tables.outcome(record) or "no figures"]
            apart = apart and not problems
            print(f"{'agree' if not problems else 'APART'}  {_peers.PEERS[name].title}, {server}: {'; '.join(problems) or 'within the limits'}")
    return 0 if apart else 1


def main():
    settings = arguments()
    if settings.install is not None:
        return install(settings)
    _meter.raise_descriptors()
    results = Results(settings)
    if settings.mode != "render":
        compile_programs(settings)
        tokenizer(settings)
        wanted = {"scale": settings.peers, "cost": [n for n in settings.peers if any(n == p for ps in COST.values() for p, _ in ps)],
                  "agreement": [n for n in settings.peers if n in ("truth", "ssebench-raw", "ssebench-curl")]}[settings.mode]
        names, about = [], {"machine": machine(settings), "versions": {}}
        for name in wanted:
            reason = _peers.PEERS[name].missing(settings.peers_folder, settings.ssebench)
            if reason:
                say(f"{name}: skipped, {reason}")
                if not any(r["mode"] == "skip" and r["peer"] == name for r in results.records):
                    results.add({"mode": "skip", "peer": name, "reason": reason})
            else:
                names.append(name)
                about["versions"][name] = _peers.PEERS[name].version(settings.peers_folder, settings.ssebench)
        try:
            code = {"scale": scale, "cost": cost, "agreement": agreement}[settings.mode](results, settings, names, about)
        finally:
            results.render()
    else:
        code = 0
        results.render()
    say(f"{results.folder}/README.md")
    return code or 0


if __name__ == "__main__":
    sys.exit(main())
