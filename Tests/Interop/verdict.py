"""The verdict about the instrument itself, proved both ways: a client that was stopped, a machine that others use and a
client that shares one core with the mock are called invalid; a quiet machine is passed, so often out of so many
(QUIET_RUNS, default 3; the full campaign is 20).

Needs the whole machine. Runs of some ten seconds each, loopback only.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

SSEBENCH = os.environ["SSEBENCH"]
SCENARIO = {
    "name": "verdict",
    "endpoint": {"mock": {"api": "openai-chat", "tokens": 150, "first_token": "200ms", "interval": "50ms"}},
    "request": {"max_tokens": 150},
    "load": {"model": "closed", "concurrency": 500, "sessions": 500, "ramp_up": "1.3s"},
    "client": {"stack": "raw", "decoder": "scan"},
    "measure": {"priority": "realtime"},
}


def run(folder, name, change=None, prefix=(), meanwhile=None):
    scenario = json.loads(json.dumps(SCENARIO))
    if change:
        change(scenario)
    path = os.path.join(folder, name + ".json")
    with open(path, "w") as file:
        json.dump(scenario, file)
    out = os.path.join(folder, name)
    process = subprocess.Popen(
        [*prefix, SSEBENCH, "run", path, "--out", out, "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if meanwhile:
        meanwhile(process)
    code = process.wait(timeout=120)
    with open(os.path.join(out, "summary.json")) as file:
        summary = json.load(file)
    variant = summary["variants"][0]
    error = (variant["instrument"].get("itl_error_ms") or {}).get("p99")
    codes = [warning["code"] for warning in summary["warnings"]]
    print(f"{name:14} exit {code:3} verdict {summary['verdict']:8} gap error p99 {error} ms, lost "
          f"{(variant.get('recovery') or {}).get('lost')}, warnings {codes}", flush=True)
    return code, summary, variant


def stopped(process):
    time.sleep(4)
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(0.2)
    os.kill(process.pid, signal.SIGCONT)


def hogged(process):
    hogs = [subprocess.Popen([sys.executable, "-c", "import time\nend = time.time() + 9\nwhile time.time() < end: pass"])
            for _ in range(2 * (os.cpu_count() or 2))]
    for hog in hogs:
        hog.wait(timeout=60)


def normal(scenario):
    scenario["measure"]["priority"] = "normal"


def heavy(scenario):
    scenario["measure"]["priority"] = "normal"
    scenario["load"].update(concurrency=3000, sessions=3000)


def main():
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        def wants_invalid(name, **arguments):
            code, summary, variant = run(folder, name, **arguments)
            if code != 3 or summary["verdict"] != "invalid" or not (
                    variant["instrument"]["bottleneck"] or "load_not_reached" in [w["code"] for w in summary["warnings"]]):
                failures.append(name)

        quiet = int(os.environ.get("QUIET_RUNS", "3"))
        passed = 0
        for number in range(quiet):
            code, summary, _ = run(folder, f"quiet-{number + 1}")
            passed += code == 0 and summary["verdict"] == "passed"
        print(f"a quiet machine: passed {passed} of {quiet}")
        if passed < quiet:
            failures.append(f"quiet: {passed} of {quiet}")
        wants_invalid("stopped", meanwhile=stopped)
        wants_invalid("cpu-hogs", change=normal, meanwhile=hogged)
        wants_invalid("one-core", change=heavy, prefix=("taskset", "-c", "0"))
    if failures:
        print("FAILED: " + ", ".join(failures))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
