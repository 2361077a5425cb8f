#!/usr/bin/env python3
"""A thousand shards of 10,000 sessions each become one run: under a minute, in memory that does not grow with them.

The folders are those of one real shard: its rows and logs linked, its record with another number and another start. Says
what it measured; SHARDS=N makes another number of them. Needs some 4.5 GB of disk under TMPDIR for a while.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from _cluster import DONE, SSEBENCH, call, fail, load, report, skip

SHARDS = int(os.environ.get("SHARDS", "1000"))
SESSIONS = 10_000


def template(folder):
    """A shard of a plan of 10 million sessions; half a minute."""
    path = os.path.join(folder, "scenario.json")
    with open(path, "w") as file:
        json.dump(
            {
                "name": "merge",
                "seed": 3,
                "endpoint": {"mock": {
                    "api": "openai-chat", "tokens": 24, "first_token": {"lognormal": {"median": "150ms", "p99": "600ms"}},
                    "interval": "50ms"}},
                "load": {"model": "closed", "concurrency": 1000 * SHARDS, "sessions": SESSIONS * SHARDS, "ramp_up": "1s"},
                "client": {"stack": "raw", "decoder": "scan"},
            }, file)
    out = os.path.join(folder, "template")
    result = call(SSEBENCH, "run", path, "--shard", f"0/{SHARDS}", "--out", out, "--quiet", limit=400)
    if result.returncode not in DONE:
        fail("the shard to copy ended with", result.returncode, result.stderr)
    if load(out)["variants"][0]["sessions"]["started"] != SESSIONS:
        fail("the shard to copy has", load(out)["variants"][0]["sessions"])
    return out


def copies(source, folder):
    record = load(source, "record.json")
    start, begun = record["run"]["started_at_ms"], record["run"]["load_starts"][0]["at_ns"]
    linked = [n for n in os.listdir(source) if n.endswith((".hlog", ".csv")) and n != "summary.csv"]
    os.mkdir(folder)
    for number in range(SHARDS):
        shard = os.path.join(folder, f"{number:04}")
        os.mkdir(shard)
        for name in linked:
            os.link(os.path.join(source, name), os.path.join(shard, name))
        # Up to 0.4 s after the first: every row but those of the first shard has to be moved.
        late = number * 7919 % 400
        record["run"]["shard"] = {"index": number, "count": SHARDS}
        record["run"]["started_at_ms"] = start + late
        record["run"]["load_starts"][0]["at_ns"] = begun + late * 1_000_000
        record["machine"]["host"] = f"host{number:04}"
        with open(os.path.join(shard, "record.json"), "w") as file:
            json.dump(record, file)
    return [os.path.join(folder, f"{number:04}") for number in range(SHARDS)]


def merge(shards, out):
    """Wall time and CPU in s, and peak memory in MB."""
    began = time.monotonic()
    process = subprocess.Popen(
        [SSEBENCH, "merge", *shards, "--out", out], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in DONE + (130,):
        fail("merge ended with", process.returncode, errors.decode())
    return time.monotonic() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def digest(folder):
    """What the merged folder says: its figures, and its rows and logs to the byte."""
    summary = load(folder)
    summary["run"].pop("id", None)
    found = {"summary": hashlib.sha256(json.dumps(summary, sort_keys=True).encode()).hexdigest()}
    for name in sorted(os.listdir(folder)):
        if name.endswith((".csv", ".hlog")) and name != "summary.csv":
            sha = hashlib.sha256()
            with open(os.path.join(folder, name), "rb") as file:
                while piece := file.read(1 << 20):
                    sha.update(piece)
            found[name] = sha.hexdigest()
    return found


def main():
    folder = tempfile.mkdtemp(prefix="ssebench-merge-")
    try:
        free = shutil.disk_usage(folder).free
        if free < 6e9:
            skip(f"only {free / 1e9:.1f} GB are free under {folder}; 6 are wanted")
        problems = []
        shards = copies(template(folder), os.path.join(folder, "shards"))
        out = lambda name: os.path.join(folder, name)

        few = max(2, SHARDS // 10)
        _, _, small = merge(shards[:few], out("few"))
        shutil.rmtree(out("few"))

        load_before = os.getloadavg()[0]
        wall, cpu, large = merge(shards, out("one"))
        one = digest(out("one"))
        summary = load(out("one"))
        size = sum(os.path.getsize(os.path.join(out("one"), n)) for n in os.listdir(out("one")))
        if summary["variants"][0]["sessions"]["completed"] != SESSIONS * SHARDS:
            problems.append(f"{summary['variants'][0]['sessions']}, and {SESSIONS * SHARDS} were to be")
        with open(out("one") + "/sessions.csv", "rb") as file:
            lines = sum(piece.count(b"\n") for piece in iter(lambda: file.read(1 << 20), b""))
        if lines != SESSIONS * SHARDS + 1:
            problems.append(f"sessions.csv has {lines} lines")
        shutil.rmtree(out("one"))
        print(f"  {SHARDS} shards of {SESSIONS} sessions: {wall:.1f} s, {cpu:.1f} s of CPU, {size / 1e9:.2f} GB written")
        print(f"  peak memory {large:.0f} MB; of {few} shards {small:.0f} MB")
        # On a machine that is busy with other things its own time is what counts.
        busy = load_before > (os.cpu_count() or 1)
        if busy:
            print(f"  the machine was busy (load {load_before:.0f} on {os.cpu_count()} cores): CPU time is held against the minute")
        if SHARDS >= 1000 and (cpu if busy else wall) > 60:
            problems.append(f"a merge of {SHARDS} shards took {wall:.1f} s, {cpu:.1f} s of CPU")
        if large > small + 40:
            problems.append(f"memory grows with the shards: {small:.0f} MB for {few}, {large:.0f} MB for {SHARDS}")

        merge(shards[::-1], out("backwards"))
        if digest(out("backwards")) != one:
            problems.append("another order gives another result")
        shutil.rmtree(out("backwards"))

        half = SHARDS // 2
        merge(shards[half:], out("b"))
        merge(shards[:half], out("a"))
        merge([out("b"), out("a")], out("two"))
        two = digest(out("two"))
        if two != one:
            problems.append(f"a merge of merges differs in {[k for k in one if one[k] != two.get(k)]}")
        print("  another order and a merge of merges: the same to the byte" if not problems else "")
        return report("cluster_merge", problems)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
