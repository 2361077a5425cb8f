#!/usr/bin/env python3
"""The archive of runs under several writers and a kill: SQLite itself finds it whole, and no run is there by half.

Six processes add the same two runs, again and again; some are killed in the middle. Python's sqlite3 then checks the file,
and each run in it has as many figures as one that was added in peace.
"""

import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time

SSEBENCH = os.environ.get("SSEBENCH", ".build/release/ssebench")
SEED = int(os.environ.get("SEED", "7"))


def call(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)


def make_runs(folder):
    path = os.path.join(folder, "history.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({
            "name": "history", "endpoint": {"mock": {"tokens": 3, "first_token": "10ms", "interval": "5ms"}},
            "load": {"model": "closed", "concurrency": 5, "sessions": 15},
        }, file)
    runs = [os.path.join(folder, f"run{index}") for index in range(2)]
    for run in runs:
        done = call(SSEBENCH, "run", path, "--out", run, "--quiet")
        if done.returncode not in (0, 3):
            sys.exit(f"run ended with {done.returncode}: {done.stderr}")
    return runs


def figures(path):
    database = sqlite3.connect(path)
    whole = database.execute("PRAGMA integrity_check").fetchone()[0]
    counts = dict(database.execute("SELECT id || started_at_ms, COUNT(*) FROM figures GROUP BY 1").fetchall())
    runs = [row[0] for row in database.execute("SELECT id || started_at_ms FROM runs").fetchall()]
    database.close()
    return whole, counts, runs


def main():
    problems = []
    chance = random.Random(SEED)
    print(f"seed {SEED}")
    with tempfile.TemporaryDirectory() as folder:
        runs = make_runs(folder)
        calm = os.path.join(folder, "calm.sqlite")
        call(SSEBENCH, "history", "add", *runs, "--db", calm)
        _, expected, _ = figures(calm)

        path = os.path.join(folder, "history.sqlite")
        killed = 0
        for _ in range(8):
            writers = [
                subprocess.Popen([SSEBENCH, "history", "add", *(runs * 5), "--db", path], stderr=subprocess.PIPE, text=True)
                for _ in range(6)
            ]
            time.sleep(chance.uniform(0.02, 0.3))
            for writer in writers[:3]:
                if writer.poll() is None:
                    writer.kill()
                    killed += 1
            for writer in writers:
                _, said = writer.communicate(timeout=120)
                if writer.returncode not in (0, -9):
                    problems.append(f"a writer ended with {writer.returncode}: {said}")
        whole, counts, listed = figures(path)
        if whole != "ok":
            problems.append(f"integrity_check: {whole}")
        if counts != expected or sorted(listed) != sorted(expected):
            problems.append(f"the archive has {counts}, expected {expected}")
        listing = call(SSEBENCH, "history", "list", "--json", "--db", path)
        if listing.returncode != 0 or len(json.loads(listing.stdout)["runs"]) != len(runs):
            problems.append(f"history list: {listing.returncode} {listing.stderr}")
        print(f"{killed} of 48 writers killed, {sum(counts.values())} figures of {len(listed)} runs")
    for problem in problems:
        print(problem)
    print(f"history_writers: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
