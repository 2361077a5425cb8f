#!/usr/bin/env python3
"""The schemas against a public judge: PyPI's check-jsonschema.

`ssebench schema` prints valid schemas of draft 2020-12; the files of Scenarios/ follow them; and of a list of documents
the judge and `ssebench validate` accept and refuse the same.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SSEBENCH = os.environ["SSEBENCH"]
JUDGE = shutil.which("check-jsonschema", path=os.path.dirname(sys.executable))

ACCEPTED = [
    {"load": {"sessions": 5}},
    {"load": {"model": "poisson", "rate": "90/min", "duration": "2.5s"}},
    {"load": {"model": "stages", "stages": [{"rate": "5/s", "for": "1m"}]}, "endpoint": {"url": "http://127.0.0.1:1/x"}},
    {"load": {"sessions": 5}, "compare": {"client.parser": ["whatwg", "lines"]}, "gates": ["errors_ratio <= 0.5"]},
    {"load": {"sessions": 5}, "endpoint": {"mock": {"tokens": {"uniform": [1, 5]}, "faults": [{"kind": "fin", "at": {"event": 2}}]}}},
    {"load": {"sessions": 5}, "client": {"consumer": {"slow": "5ms"}, "cancel": {"share": 0.5, "after": {"time": "1s"}}}},
    {"wukongim": {"readers": 5, "interval": {"exponential": {"mean": "20ms"}}}},
]
REFUSED = [
    {"load": {"sessions": "5"}},
    {"load": {"sesions": 5}},
    {"load": {"sessions": 5, "cv": 2}},
    {"load": {"model": "poison", "rate": "5/s", "duration": "1s"}},
    {"load": {"model": "poisson", "rate": "0/s", "duration": "1s"}},
    {"load": {"model": "poisson", "rate": "5/s", "duration": "1 s"}},
    {"load": {"sessions": 5}, "endpoint": {"url": "http://h", "mock": {}}},
    {"load": {"sessions": 5}, "endpoint": {"mock": {"faults": [{"kind": "fin", "for": "1s"}]}}},
    {"load": {"sessions": 5}, "endpoint": {"mock": {"faults": [{"at": {"event": 1}}]}}},
    {"load": {"sessions": 5}, "endpoint": {"mock": {"tokens": {"uniform": [1]}}}},
    {"load": {"sessions": 5}, "until": {"events": 1, "event": "x"}},
    {"load": {"sessions": 5}, "slo": {"ttft_ms": 0}},
    {"load": {"sessions": 5}, "wukongim": {}},
    [],
]


def plain(text):
    """The text without comments and trailing commas, which scenario files may have and the judge does not read."""
    token = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/', re.S)
    text = token.sub(lambda match: match.group() if match.group()[0] == '"' else "", text)
    return re.sub(r'("(?:[^"\\]|\\.)*")|,(?=\s*[}\]])', lambda match: match.group(1) or "", text)


def judge(schema, *documents):
    return subprocess.run([JUDGE, "--schemafile", schema, *documents], capture_output=True, text=True)


def main():
    if JUDGE is None:
        print("check-jsonschema is not installed")
        return 77
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        schemas = {}
        for name in ["scenario", "mock", "summary"]:
            schemas[name] = os.path.join(folder, f"{name}.schema.json")
            with open(schemas[name], "w") as file:
                subprocess.run([SSEBENCH, "schema", name], stdout=file, check=True)
        result = subprocess.run([JUDGE, "--check-metaschema", *schemas.values()], capture_output=True, text=True)
        if result.returncode != 0:
            failures.append(result.stdout + result.stderr)

        shipped = [
            os.path.join(path, name) for path, _, names in os.walk("Scenarios") for name in sorted(names)
            if name.endswith(".json") and not name.endswith(".schema.json")
        ]
        copies = []
        for index, name in enumerate(shipped):
            copies.append(os.path.join(folder, f"{index}-{os.path.basename(name)}"))
            with open(name) as source, open(copies[-1], "w") as copy:
                copy.write(plain(source.read()))
        result = judge(schemas["scenario"], *copies)
        if result.returncode != 0:
            failures.append(result.stdout + result.stderr)

        for expected, documents in [(True, ACCEPTED), (False, REFUSED)]:
            for index, document in enumerate(documents):
                path = os.path.join(folder, f"{expected}-{index}.json")
                with open(path, "w") as file:
                    json.dump(document, file)
                ours = subprocess.run([SSEBENCH, "validate", path], capture_output=True, text=True)
                theirs = judge(schemas["scenario"], path)
                if (ours.returncode == 0) != expected or ours.returncode not in (0, 78):
                    failures.append(f"ssebench on {document}: exit {ours.returncode}\n{ours.stderr}")
                if (theirs.returncode == 0) != expected:
                    failures.append(f"check-jsonschema on {document}: exit {theirs.returncode}\n{theirs.stdout}")
    for failure in failures:
        print(failure)
    print(f"schemas: {len(shipped)} shipped files, {len(ACCEPTED) + len(REFUSED)} documents, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
