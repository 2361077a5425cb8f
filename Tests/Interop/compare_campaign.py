#!/usr/bin/env python3
"""Campaigns of comparisons on this machine as it is: how often a build differs from itself, and is a slowdown found.

Each comparison is four runs in the order A B B A, two repeats each, given to `ssebench compare --baseline --candidate`.
- A/A: both sides are the same; any result but `same` is a false alarm.
- A/B: B's mock sends the first token 5 % later (210 ms for 200 ms); the comparison must say `worse`, by `ttft_ms.p50`.
Beside them stands how often the intervals of the medians hold the truth: 0 ms, and 10 ms.

A run that is not to be trusted (exit code 3) is made again, at most RETRIES times, and counted; a comparison without four
runs to be trusted is told and counts neither way.

By environment: CAMPAIGN_AA and CAMPAIGN_AB, numbers of comparisons (2 and 2; the full ones are 40 and 20, about half an
hour), CAMPAIGN_SESSIONS (100, a repeat), CAMPAIGN_OUT (a JSON file of all results).
"""

import json
import os
import subprocess
import sys
import tempfile
import time

SSEBENCH = os.environ.get("SSEBENCH", ".build/release/ssebench")
AA = int(os.environ.get("CAMPAIGN_AA", "2"))
AB = int(os.environ.get("CAMPAIGN_AB", "2"))
SESSIONS = int(os.environ.get("CAMPAIGN_SESSIONS", "100"))
OUT = os.environ.get("CAMPAIGN_OUT", os.path.join(".build", "interop", "campaign.json"))
RETRIES = 4
FAST, SLOW = 200, 210

SCENARIO = {
    "name": "campaign",
    "endpoint": {"mock": {"api": "openai-chat", "tokens": 8, "first_token": f"{FAST}ms", "interval": "40ms"}},
    "load": {"model": "closed", "concurrency": 50, "sessions": SESSIONS, "ramp_up": "300ms"},
    # Where it is allowed, other work on the machine is then no reason to distrust a run.
    "measure": {"repeats": 2, "priority": "realtime"},
}


def call(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)


def one_run(scenario, folder, name, first_token, counts):
    """A folder of a run that can be trusted; None where none could be had."""
    for attempt in range(1 + RETRIES):
        out = os.path.join(folder, f"{name}-{attempt}")
        done = call(SSEBENCH, "run", scenario, "--out", out, "--quiet", "--set", f'endpoint.mock.first_token="{first_token}ms"')
        if done.returncode == 0:
            return out
        if done.returncode != 3:
            sys.exit(f"a run ended with {done.returncode}: {done.stderr}")
        counts["untrusted_runs"] += 1
    return None


def one_comparison(kind, index, slow, counts):
    with tempfile.TemporaryDirectory() as folder:
        scenario = os.path.join(folder, "campaign.json")
        with open(scenario, "w", encoding="utf-8") as file:
            json.dump(dict(SCENARIO, seed=1000 + index), file)
        runs = {}
        for letter in ["A1", "B1", "B2", "A2"]:
            runs[letter] = one_run(scenario, folder, letter, slow if letter[0] == "B" else FAST, counts)
            if runs[letter] is None:
                print(f"{kind} {index}: no run to be trusted in {1 + RETRIES} attempts")
                return None
        done = call(
            SSEBENCH, "compare", "--json", "--ignore", "endpoint.mock.first_token",
            "--baseline", runs["A1"], runs["A2"], "--candidate", runs["B1"], runs["B2"])
    report = json.loads(done.stdout)
    figures = {figure["key"]: figure for figure in report["comparisons"][0]["figures"]}
    median = figures.get("ttft_ms.p50")
    row = {
        "kind": kind, "index": index, "result": report["result"], "exit_code": done.returncode,
        "differs": [key for key, figure in figures.items() if figure["decides"] and figure["result"] != "same"],
        "ttft_p50": {key: median[key] for key in ["difference", "difference_ci95", "ratio", "ratio_ci95", "p_adjusted", "result"]}
        if median else None,
        "noise_floor_ratio": median["noise_floor_ratio"] if median else None,
    }
    if median:
        low, high = median["difference_ci95"]
        row["holds_truth"] = low <= slow - FAST <= high
    say = f"{median['difference']:.2f} ms ({low:.2f} to {high:.2f})" if median else "no ttft_ms.p50"
    print(f"{kind} {index}: {row['result']}; ttft p50 {say}; {', '.join(row['differs']) or 'no figure differs'}", flush=True)
    return row


def main():
    problems = []
    counts = {"untrusted_runs": 0}
    began = time.monotonic()
    rows = [one_comparison("A/A", index, FAST, counts) for index in range(AA)]
    rows += [one_comparison("A/B", index, SLOW, counts) for index in range(AA, AA + AB)]
    done = [row for row in rows if row]
    same = [row for row in done if row["kind"] == "A/A"]
    slower = [row for row in done if row["kind"] == "A/B"]
    alarms = [row for row in same if row["result"] != "same"]
    found = [row for row in slower if row["result"] == "worse" and "ttft_ms.p50" in row["differs"]]
    held = [row for row in done if row.get("holds_truth")]
    summary = {
        "a_a": len(same), "false_alarms": len(alarms), "a_b": len(slower), "found": len(found),
        "intervals": len(done), "intervals_that_hold_the_truth": len(held), "not_to_be_trusted": len(rows) - len(done),
        "untrusted_runs": counts["untrusted_runs"], "seconds": round(time.monotonic() - began),
    }
    os.makedirs(os.path.dirname(OUT) or ".", exist_ok=True)
    with open(OUT, "w", encoding="utf-8") as file:
        json.dump({"summary": summary, "comparisons": rows}, file, indent=1)
    print(json.dumps(summary))
    # 5 of 40, 1 of 20: a short campaign is allowed one of each, by chance.
    if len(alarms) > max(1, len(same) * 5 // 40):
        problems.append(f"{len(alarms)} false alarms in {len(same)} comparisons of a build with itself")
    if len(slower) - len(found) > max(1, len(slower) // 20):
        problems.append(f"a slowdown of 5 % was found in {len(found)} of {len(slower)}")
    if len(done) < len(rows):
        print(f"compare_campaign: {len(rows) - len(done)} comparisons could not be made: the machine was too busy")
    for problem in problems:
        print(problem)
    print(f"compare_campaign: {len(problems)} problems; {OUT}")
    if problems:
        return 1
    if not done:
        print("compare_campaign: the machine was too busy for any run to be trusted")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
