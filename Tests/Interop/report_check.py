#!/usr/bin/env python3
"""Reads a run folder's reports with other people's readers.

Usage: report_check.py RUN_FOLDER
- summary.csv with Python's csv and with SQLite: the same numbers as summary.json.
- sessions.csv with Python's csv: every row as long as the header; no field begins like a formula.
- junit.xml with PyPI's junitparser: the counts of the gates.
- summary.json against schema.json (where the folder has one) with PyPI's jsonschema.
Needs: pip install junitparser jsonschema
"""

import csv
import json
import os
import sqlite3
import sys

problems = []


def check(condition, message):
    if not condition:
        problems.append(message)


def walk(value, path):
    if isinstance(value, dict):
        if "count" in value and "p50" in value:
            yield path, value
        else:
            for key, inner in value.items():
                yield from walk(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from walk(inner, f"{path}.{index}")
    else:
        yield path, value


def number(text):
    return None if text == "" else float(text)


def check_csv(folder, summary):
    with open(os.path.join(folder, "summary.csv"), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    database = sqlite3.connect(":memory:")
    columns = list(rows[0])
    database.execute("CREATE TABLE figures(%s)" % ", ".join(f'"{c}"' for c in columns))
    database.executemany("INSERT INTO figures VALUES(%s)" % ", ".join("?" * len(columns)), [list(r.values()) for r in rows])
    compared = 0
    for variant in summary["variants"]:
        name = variant["name"] if variant["name"][:1] not in "=+-@" else "'" + variant["name"]
        for path, value in walk(variant, ""):
            if path in ("name",) or path.startswith(("client", "error_samples")):
                continue
            found = [r for r in rows if r["variant"] == name and r["metric"] == path]
            check(len(found) == 1, f"summary.csv: {len(found)} rows for {path}")
            if len(found) != 1:
                continue
            if isinstance(value, dict):
                for field, wanted in value.items():
                    check(number(found[0][field]) == wanted, f"summary.csv: {path}.{field}: {found[0][field]} and {wanted}")
                    sql = database.execute(
                        f'SELECT "{field}" FROM figures WHERE variant=? AND metric=?', (name, path)).fetchone()[0]
                    check(number(sql) == wanted, f"SQLite: {path}.{field}")
                    compared += 1
            elif isinstance(value, (int, float)) and not isinstance(value, bool):
                check(number(found[0]["value"]) == value, f"summary.csv: {path}: {found[0]['value']} and {value}")
                compared += 1
    return compared


def check_sessions(folder):
    with open(os.path.join(folder, "sessions.csv"), newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        header = next(reader)
        count = 0
        for row in reader:
            count += 1
            check(len(row) == len(header), f"sessions.csv: row {count} has {len(row)} fields")
            check(not any(field[:1] in "=+@" for field in row if field), f"sessions.csv: row {count} begins a formula")
    return count


def check_junit(folder, summary):
    path = os.path.join(folder, "junit.xml")
    if not summary["gates"]:
        check(not os.path.exists(path), "junit.xml without gates")
        return 0
    from junitparser import JUnitXml

    xml = JUnitXml.fromfile(path)
    suite = next(iter(xml))
    failed = sum(1 for gate in summary["gates"] if gate["held"] is False)
    check(suite.tests == len(summary["gates"]) + 1, "junit.xml: number of tests")
    check(suite.failures == failed, f"junit.xml: {suite.failures} failures and {failed} gates")
    names = [case.name for case in suite]
    for gate in summary["gates"]:
        check(gate["expression"] in names, f"junit.xml lacks {gate['expression']}")
    return len(names)


def main(folder):
    summary = json.load(open(os.path.join(folder, "summary.json"), encoding="utf-8"))
    compared = check_csv(folder, summary)
    sessions = check_sessions(folder)
    cases = check_junit(folder, summary)
    schema = os.path.join(folder, "schema.json")
    if os.path.exists(schema):
        import jsonschema

        validator = jsonschema.Draft202012Validator(json.load(open(schema, encoding="utf-8")))
        for error in validator.iter_errors(summary):
            check(False, f"schema: {error.json_path}: {error.message[:200]}")
    for problem in problems[:20]:
        print(problem)
    print(f"report_check: {compared} numbers, {sessions} sessions, {cases} test cases, {len(problems)} problems")
    return 1 if problems or compared == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
