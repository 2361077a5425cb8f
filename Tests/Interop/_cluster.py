# What the tests of shards have in common: a scenario, its run in one process, and what a merged run must be. Not a test.

import csv
import importlib.util
import json
import math
import os
import signal
import subprocess
import sys

# Ended from outside, a script still ends what it has started.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SSEBENCH = os.environ.get("SSEBENCH", os.path.join(ROOT, ".build/release/ssebench"))
CLUSTER = os.path.join(ROOT, "Scenarios/cluster")
SESSIONS = 240
SHARDS = 4
#: What a run may end with: a busy machine's figures are not to be trusted, which is no matter of these tests.
DONE = (0, 3)


def skip(reason):
    print(reason)
    sys.exit(77)


def need(*modules):
    for module in modules:
        if importlib.util.find_spec(module) is None:
            skip(f"the Python package {module} is not installed")


def fail(*words):
    print(*words)
    sys.exit(1)


def call(*words, limit=180, **options):
    return subprocess.run(words, capture_output=True, text=True, timeout=limit, stdin=subprocess.DEVNULL, **options)


def scenario(folder, **changes):
    """The path of the scenario that is run, in `folder`."""
    document = {
        "name": "cluster",
        "seed": 7,
        "endpoint": {"mock": {"api": "openai-chat", "tokens": {"uniform": [8, 24]}, "first_token": "30ms", "interval": "5ms"}},
        "load": {"model": "closed", "concurrency": 24, "sessions": SESSIONS},
        "client": {"stack": "raw"},
        "gates": ["errors_ratio <= 0"],
    }
    document.update(changes)
    path = os.path.join(folder, "scenario.json")
    with open(path, "w") as file:
        json.dump(document, file)
    return path


def run_alone(path, folder):
    """The run of one process; its folder."""
    out = os.path.join(folder, "alone")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "OMPI_", "PMI_"))}
    result = call(SSEBENCH, "run", path, "--out", out, "--quiet", env=environment)
    if result.returncode not in DONE:
        fail("the run of one process ended with", result.returncode, result.stderr)
    return out


def load(folder, name="summary.json"):
    with open(os.path.join(folder, name)) as file:
        return json.load(file)


def rows(folder):
    with open(os.path.join(folder, "sessions.csv"), newline="") as file:
        return list(csv.DictReader(file))


def added(folders, metric):
    """The counts of one metric's histograms of all shards, added by the public HdrHistogram library."""
    from hdrh.histogram import HdrHistogram

    total = HdrHistogram(1, (1 << 43) - 1, 3)
    largest = 0
    for folder in folders:
        stored = load(folder, "record.json")["variants"][0]["histograms"].get(metric)
        if stored is None:
            continue
        total.add(HdrHistogram.decode(stored["counts"]))
        largest = max(largest, stored["largest"])
    return total, largest


def quantile(histogram, largest, share):
    """In ms: the highest value that shares the count of the one at that rank, and never more than the largest."""
    wanted = max(1, math.ceil(share * histogram.get_total_count()))
    seen = 0
    for item in histogram.get_recorded_iterator():
        seen += item.count_added_in_this_iter_step
        if seen >= wanted:
            return min(item.value_iterated_to, largest) / 1e6
    return largest / 1e6


def check_merge(merged, shards, alone, sessions=SESSIONS):
    """The merged run of `shards` is the run of `alone`: every session of the plan once, the same counts, and percentiles
    of the added histograms. Returns a list of what is wrong."""
    problems = []
    summary = load(merged)
    if summary["verdict"] == "partial":
        problems.append(f"the merged run is partial: {summary['verdict_reasons']}")
    numbers = sorted(int(row["session"]) for row in rows(merged))
    if numbers != list(range(sessions)):
        problems.append(f"sessions.csv has {len(numbers)} rows of {len(set(numbers))} sessions; {sessions} were planned")
    one, many = load(alone)["variants"][0], summary["variants"][0]
    for key in ("planned", "started", "completed", "failed", "cancelled", "dropped"):
        if one["sessions"][key] != many["sessions"][key]:
            problems.append(f"sessions.{key}: {many['sessions'][key]} merged, {one['sessions'][key]} in one process")
    for key in ("events", "tokens"):
        if one[key]["count"] != many[key]["count"]:
            problems.append(f"{key}.count: {many[key]['count']} merged, {one[key]['count']} in one process")
    tokens = lambda folder: {int(row["session"]): row["tokens"] for row in rows(folder)}
    if tokens(alone) != tokens(merged):
        problems.append("a session has other tokens than in one process")
    compared = 0
    for metric, key in (("ttft", "ttft_ms"), ("itl", "itl_ms"), ("e2e", "e2e_ms"), ("tpot", "tpot_ms")):
        histogram, largest = added(shards, metric)
        figures = many[key]
        if figures["count"] != histogram.get_total_count():
            problems.append(f"{key}.count: {figures['count']}, and {histogram.get_total_count()} in the shards")
        for name, share in (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)):
            if figures[name] is None:
                continue
            compared += 1
            wanted = quantile(histogram, largest, share)
            if abs(figures[name] - wanted) > 1e-6:
                problems.append(f"{key}.{name}: {figures[name]} merged, {wanted} from the added histograms")
    if compared < 8:
        problems.append(f"only {compared} percentiles could be compared")
    if len(summary["hosts"]) != len(shards):
        problems.append(f"{len(summary['hosts'])} hosts in the merged run of {len(shards)} shards")
    return problems


def report(name, problems):
    for problem in problems:
        print(problem)
    print(f"{name}: {len(problems)} problems")
    return 1 if problems else 0
