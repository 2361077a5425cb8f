"""A server restart with 5,000 streams open: all lose their connection at one instant, and all must come back.

With the policy `backoff` and jitter their first tries must be spread as was asked (held against the rows of recovery.csv);
without jitter they come back as a herd, and the report must say so.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile

SSEBENCH = os.environ["SSEBENCH"]
SESSIONS = int(os.environ.get("STORM_SESSIONS", "5000"))
problems = []


def expect(what, condition):
    print(f"  {'ok' if condition else 'NOT OK'}  {what}")
    if not condition:
        problems.append(what)


def quantile(values, share):
    return values[min(len(values) - 1, int(share * len(values)))]


def storm(folder, name, reconnect):
    path, out = f"{folder}/{name}.json", f"{folder}/{name}"
    scenario = {
        "name": f"storm-{name}",
        "endpoint": {"mock": {
            "api": "sse", "tokens": 60, "first_token": "500ms", "interval": "500ms",
            # All are open by then (ramp_up), and none has ended (60 events take 30 s).
            "faults": [{"kind": "restart", "for": "300ms", "at": {"run_time": "20s"}}]}},
        "load": {"model": "closed", "concurrency": SESSIONS, "sessions": SESSIONS, "ramp_up": "5s"},
        "until": {"events": 60},
        "client": {"stack": "raw", "reconnect": reconnect, "timeouts": {"connect": "30s", "total": "120s"}},
    }
    with open(path, "w") as file:
        json.dump(scenario, file)
    done = subprocess.run(
        [SSEBENCH, "run", path, "--out", out, "--quiet"], capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
    if not os.path.exists(f"{out}/summary.json"):
        sys.exit(f"no run: {done.stdout}{done.stderr}")
    with open(f"{out}/summary.json") as file:
        summary = json.load(file)
    with open(f"{out}/recovery.csv") as file:
        rows = list(csv.DictReader(file))
    variant = summary["variants"][0]
    recovery = variant["recovery"]
    lost = sorted(int(row["detected_ns"]) / 1e6 for row in rows)
    delays = sorted((int(row["first_attempt_ns"]) - int(row["detected_ns"])) / 1e6 for row in rows)
    herd = [warning["message"] for warning in summary["warnings"] if warning["code"] == "herd"]
    print(f"{name}: {variant['sessions']['completed']} of {SESSIONS} complete, {recovery['disconnects']} disconnects, "
          f"{recovery['recovered']} recovered, lost {recovery['lost']}, duplicated {recovery['duplicated']}; "
          f"lost within {lost[-1] - lost[0]:.0f} ms, delays {delays[0]:.0f} to {delays[-1]:.0f} ms "
          f"(p10 {quantile(delays, 0.1):.0f}, p50 {quantile(delays, 0.5):.0f}, p90 {quantile(delays, 0.9):.0f}), "
          f"recovery time p50 {recovery['time_ms']['p50']} p99 {recovery['time_ms']['p99']} ms, "
          f"storm of {recovery['storm_size']}, spread {recovery['storm_spread_ms']} ms; herd: {herd}")
    expect(f"{name}: all back and complete", variant["sessions"]["completed"] == SESSIONS and recovery["never_recovered"] == 0)
    expect(f"{name}: each lost its connection once", recovery["disconnects"] == SESSIONS == recovery["recovered"] == len(rows))
    expect(f"{name}: nothing lost, doubled, mixed up or damaged",
           all(recovery[key] == 0 for key in ("lost", "duplicated", "reordered", "corrupted", "undelivered")))
    expect(f"{name}: the storm is seen whole", recovery["storm_size"] is not None and recovery["storm_size"] >= 0.95 * SESSIONS)
    if recovery["storm_spread_ms"] is not None:
        apart = quantile(delays, 0.9) - quantile(delays, 0.1)
        expect(f"{name}: its spread is that of recovery.csv ({apart:.0f} ms)", abs(recovery["storm_spread_ms"] - apart) < 0.1 * apart + 20)
    return delays, herd, open(f"{out}/report.md").read()


def main():
    with tempfile.TemporaryDirectory() as folder:
        # The delay is 4 s less a random part of up to one half: evenly from 2 to 4 s.
        delays, herd, _ = storm(folder, "jitter", {"policy": "backoff", "base": "4s", "jitter": 0.5, "tries": 8})
        distance = max(abs((index + 0.5) / len(delays) - (delay - 2000) / 2000) for index, delay in enumerate(delays))
        # 1.95 ÷ √n is the 0.1 % limit of Kolmogorov and Smirnov. What the machine adds to each delay comes on top: the longest is
        # what it was late by, at most.
        late = max(0, delays[-1] - 4000)
        limit = 1.95 / len(delays) ** 0.5 + 0.05 + late / 2000
        expect(f"jitter: delays are even over 2 to 4 s (distance {distance:.4f}, limit {limit:.4f})", distance < limit)
        expect("jitter: none came early", delays[0] >= 2000)
        expect("jitter: no warning of a herd", not herd)
        delays, herd, report = storm(folder, "herd", {"policy": "whatwg", "retry": "2s"})
        expect("herd: none came early", delays[0] >= 2000)
        expect("herd: the report warns of it", len(herd) == 1 and "herd" in report)
    for problem in problems:
        print(f"failed: {problem}")
    print(f"recovery_storm: {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
