#!/usr/bin/env python3
"""A small run against the mock, then public tools read what it wrote.

hdrhistogram reads the .hlog files, junitparser and SQLite the tables, check-jsonschema holds scenario.json and summary.json
against our own schemas and the workflow files against GitHub's, and Chromium (where there is one) opens report.html.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SSEBENCH = os.environ.get("SSEBENCH", os.path.join(ROOT, ".build/release/ssebench"))


def need(module):
    if importlib.util.find_spec(module) is None:
        print(f"the Python package {module} is not installed")
        sys.exit(77)


def call(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, **options)


def run(folder):
    scenario = {
        "name": "files",
        "endpoint": {"mock": {"api": "openai-chat", "tokens": 40, "first_token": "20ms", "interval": "4ms"}},
        "load": {"model": "closed", "concurrency": 10, "sessions": 80},
        "compare": {"client.parser": ["whatwg", "data-only"]},
        "measure": {"repeats": 1},
        "gates": ["errors_ratio <= 0", "ttft_ms.p50 < 60000"],
    }
    path = os.path.join(folder, "files.json")
    with open(path, "w") as file:
        json.dump(scenario, file)
    out = os.path.join(folder, "run")
    result = call(SSEBENCH, "run", path, "--out", out)
    # 3: the machine was busy, which is no matter of the files.
    if result.returncode not in (0, 3):
        print(result.stdout + result.stderr)
        sys.exit(f"run ended with {result.returncode}")
    return out


def schema(name, document, folder, problems):
    made = call(SSEBENCH, "schema", name)
    if made.returncode != 0:
        problems.append(f"ssebench schema {name}: {made.stderr.strip()}")
        return
    path = os.path.join(folder, f"{name}.schema.json")
    with open(path, "w") as file:
        file.write(made.stdout)
    result = call(sys.executable, "-m", "check_jsonschema", "--schemafile", path, document)
    if result.returncode != 0:
        problems.append(result.stdout + result.stderr)


def main():
    need("hdrh")
    need("junitparser")
    need("jsonschema")
    need("check_jsonschema")
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        out = run(folder)
        for check in ("hlog_check.py", "report_check.py"):
            result = call(sys.executable, os.path.join(HERE, check), out)
            print(result.stdout.strip())
            if result.returncode != 0:
                problems.append(f"{check} failed: {result.stderr}")
        schema("scenario", os.path.join(out, "scenario.json"), folder, problems)
        schema("summary", os.path.join(out, "summary.json"), folder, problems)
        workflows = os.path.join(ROOT, ".github/workflows")
        for name in sorted(os.listdir(workflows)):
            result = call(
                sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows",
                os.path.join(workflows, name))
            if result.returncode != 0:
                problems.append(result.stdout + result.stderr)
        page = os.path.join(out, "report.html")
        check = os.path.join(HERE, "page_check.py")
        if shutil.which("chromium") and os.path.exists(page) and os.path.exists(check):
            result = call(sys.executable, check, page, os.path.join(folder, "pages"))
            print(result.stdout.strip())
            if result.returncode != 0:
                problems.append("page_check.py failed: " + result.stdout + result.stderr)
    for problem in problems:
        print(problem)
    print(f"run_files: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
