#!/usr/bin/env python3
"""The script of the nightly, with one program as both releases and two short scenarios.

- The runs alternate A B B A; with equal programs every gate holds, and the exit code is 0.
- A gate that cannot hold ends with 1, is a failure for PyPI's junitparser, and the summary names it.
- A scenario without a gate on a baseline runs once.
- The history has the new program's runs and no other; pages, summaries and trends lie under reports/.
- `.ci/renew-baselines` leaves runs that `compare --gates` reads.
"""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SSEBENCH = os.path.abspath(os.environ.get("SSEBENCH", os.path.join(ROOT, ".build/release/ssebench")))
NOT_TRUSTED = 3


def scenario(name, gates):
    return {
        "name": name,
        "endpoint": {"mock": {"tokens": 6, "first_token": "100ms", "interval": "40ms"}},
        "load": {"model": "closed", "concurrency": 10, "sessions": 40},
        "measure": {"priority": "realtime"},
        "gates": gates,
    }


def night(folder, name, files):
    out = os.path.join(folder, name)
    environment = dict(
        os.environ, NIGHTLY_OUT=out, NIGHTLY_PROGRAM=SSEBENCH, NIGHTLY_PREVIOUS_PROGRAM=SSEBENCH, NIGHTLY_RETRIES="3",
        NIGHTLY_HISTORY=os.path.join(folder, f"{name}.sqlite"), GITHUB_STEP_SUMMARY=os.path.join(folder, f"{name}.step.md"))
    environment.pop("GITHUB_ACTIONS", None)
    done = subprocess.run(
        [os.path.join(ROOT, ".ci/nightly"), *files], env=environment, capture_output=True, text=True, timeout=600,
        stdin=subprocess.DEVNULL)
    print(f"{name}: exit code {done.returncode}")
    return done, out


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def failures(path):
    from junitparser import JUnitXml

    return [case.name for suite in JUnitXml.fromfile(path) for case in suite if any(
        type(result).__name__ == "Failure" for result in case.result)]


def main():
    try:
        import junitparser  # noqa: F401
    except ImportError:
        print("junitparser is not installed")
        return 77
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for name, gates in {
            "pair": ["errors_ratio == 0", "ttft_ms.p50 <= baseline * 1.5"],
            "alone": ["errors_ratio == 0"],
            "hopeless": ["ttft_ms.p50 <= baseline * 0.5"],
            "wrong": ["tftt_ms.p50 <= baseline"],
        }.items():
            paths[name] = os.path.join(folder, f"{name}.json")
            with open(paths[name], "w", encoding="utf-8") as file:
                json.dump(scenario(name, gates), file)

        done, out = night(folder, "calm", [paths["pair"], paths["alone"]])
        if done.returncode == NOT_TRUSTED:
            print("the machine is too busy for runs of 40 sessions to be trusted")
            return 77
        if done.returncode != 0:
            problems.append(f"equal programs ended with {done.returncode}: {done.stderr[-2000:]}")
        else:
            begun = {
                letter: json.loads(text(f"{out}/reports/pair/{letter}/summary.json"))["run"]["started_at_ms"]
                for letter in ["A1", "B1", "B2", "A2"]
            }
            if sorted(begun, key=begun.get) != ["A1", "B1", "B2", "A2"]:
                problems.append(f"the order is {sorted(begun, key=begun.get)}")
            for path in ["pair/comparison.html", "pair/junit.xml", "alone/B/report.html", "trend-ttft_ms.p50.html", "summary.md"]:
                if not os.path.exists(f"{out}/reports/{path}"):
                    problems.append(f"there is no reports/{path}")
            if os.path.exists(f"{out}/runs/alone/A1"):
                problems.append("a scenario without a baseline ran alternating")
            step = text(os.path.join(folder, "calm.step.md"))
            if "ttft_ms.p50 <= baseline * 1.5" not in step or "# alone" not in step:
                problems.append("the step summary lacks a scenario")
            rows = sqlite3.connect(os.path.join(folder, "calm.sqlite")).execute("SELECT name, folder FROM runs").fetchall()
            if sorted(name for name, _ in rows) != ["alone", "pair", "pair"] or any("/A" in place for _, place in rows):
                problems.append(f"the history has {rows}")

        done, out = night(folder, "red", [paths["hopeless"]])
        if done.returncode not in (1, NOT_TRUSTED):
            problems.append(f"a hopeless gate ended with {done.returncode}: {done.stderr[-2000:]}")
        if done.returncode == 1:
            if failures(f"{out}/reports/hopeless/junit.xml") != ["ttft_ms.p50 <= baseline * 0.5"]:
                problems.append("junit.xml does not have the failure")
            if "1 of 1 gates did not hold" not in text(f"{out}/summary.md"):
                problems.append("the summary does not name the gate")

        done, out = night(folder, "malformed", [paths["wrong"]])
        if done.returncode != 78 or "did you mean" not in text(f"{out}/summary.md"):
            problems.append(f"a malformed gate ended with {done.returncode}")
        if os.path.exists(f"{out}/runs/wrong/A1"):
            problems.append("a malformed gate made traffic")

        baselines = os.path.join(folder, "baselines")
        environment = dict(os.environ, BASELINE_PROGRAM=SSEBENCH, BASELINE_FOLDER=baselines)
        renewed = subprocess.run(
            [os.path.join(ROOT, ".ci/renew-baselines"), "here", paths["pair"]], env=environment, capture_output=True, text=True,
            timeout=300, stdin=subprocess.DEVNULL)
        if renewed.returncode == 0:
            runs = [f"{baselines}/here/pair/{number}" for number in (1, 2)]
            judged = subprocess.run(
                [SSEBENCH, "compare", "--baseline", runs[0], "--candidate", runs[1], "--gates", paths["pair"]],
                capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
            if judged.returncode != 0 or "Every gate held" not in judged.stdout:
                problems.append(f"a baseline cannot be compared with: {judged.returncode}, {judged.stdout}{judged.stderr}")
        elif renewed.returncode != NOT_TRUSTED:
            problems.append(f"renew-baselines ended with {renewed.returncode}: {renewed.stderr}")
    for problem in problems:
        print(problem)
    print(f"nightly_script: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
