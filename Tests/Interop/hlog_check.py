#!/usr/bin/env python3
"""Reads a run folder's *.hlog with PyPI's hdrhistogram and compares it with summary.json.

Usage: hlog_check.py RUN_FOLDER
Each log's intervals are added by the public library; the sum's count and percentiles must be those of the summary
(a value may differ by the histogram's resolution: the summary never passes the largest recorded value).
Needs: pip install hdrhistogram
"""

import glob
import json
import os
import sys

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

PERCENTILES = {"p50": 50, "p90": 90, "p95": 95, "p99": 99, "p999": 99.9}


def key_path(name):
    if name.startswith("from_scheduled_"):
        return ["from_scheduled", name[len("from_scheduled_"):] + "_ms"]
    if name.startswith("recovery_"):
        return ["recovery", name[len("recovery_"):] + "_ms"]
    return [name + "_ms"]


def find(variant, name):
    for path in (key_path(name), ["instrument", name + "_ms"]):
        value = variant
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None:
            return value
    return None


def main(folder):
    summary = json.load(open(os.path.join(folder, "summary.json")))
    checked = 0
    problems = []
    for log in sorted(glob.glob(os.path.join(folder, "*.hlog"))):
        name, slug, _ = os.path.basename(log).split(".", 2)
        variants = [v for v in summary["variants"] if "".join(c for c in v["name"].lower() if c.isalnum()) == slug.replace("-", "")]
        if not variants:
            problems.append(f"{log}: no variant '{slug}' in summary.json")
            continue
        figures = find(variants[0], name)
        total = HdrHistogram(1, (1 << 43) - 1, 3)
        reader = HistogramLogReader(log, total)
        intervals = 0
        last = -1.0
        while True:
            histogram = reader.get_next_interval_histogram()
            if histogram is None:
                break
            intervals += 1
            if histogram.get_start_time_stamp() < last:
                problems.append(f"{log}: intervals out of order")
            last = histogram.get_start_time_stamp()
            total.add(histogram)
        if figures is None or total.get_total_count() != figures["count"]:
            problems.append(f"{log}: {total.get_total_count()} values, summary has {figures and figures['count']}")
            continue
        for field, percentile in PERCENTILES.items():
            if figures[field] is None:
                continue
            # Libraries round the rank of a percentile up or to the nearest: the value lies between those of both ranks.
            step = 100 / figures["count"]
            low = total.get_value_at_percentile(percentile - step) / 1e6
            theirs = total.get_value_at_percentile(percentile) / 1e6
            high = total.get_value_at_percentile(min(100, percentile + step)) / 1e6
            ours = figures[field]
            checked += 1
            slack = max(ours / 1000, 1e-6)
            if not low - slack <= ours <= high + slack:
                problems.append(f"{log}: {field} is {theirs} ms for hdrhistogram, {ours} ms in the summary")
        if intervals == 0:
            problems.append(f"{log}: no interval")
    for problem in problems:
        print(problem)
    print(f"hlog_check: {checked} percentiles equal, {len(problems)} problems")
    return 1 if problems or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
