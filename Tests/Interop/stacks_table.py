#!/usr/bin/env python3
"""The table of stacks: Scenarios/stacks.json, smaller than it is there (STACKS_FULL=1: as it is, five times; long).

Allocations and bytes an event must repeat within 5 % from run to run; the order by CPU an event must be the same in each
run, save between variants whose ranges overlap, which are named; nothing may be lost where the client is strict.
"""

import itertools
import json
import os
import re

from _paths import HERE, Scene

FULL = os.environ.get("STACKS_FULL") == "1"
RUNS = int(os.environ.get("STACKS_RUNS", "5" if FULL else "2"))
SCENARIO = os.path.join(HERE, "../../Scenarios/stacks.json")
SMALL = ["load.sessions=20", "load.concurrency=20", "load.ramp_up=200ms", "endpoint.mock.tokens=150",
         "endpoint.mock.interval=20ms"]
if os.environ.get("STACKS_STACKS"):
    SMALL.append(f"compare.client.stack={os.environ['STACKS_STACKS']}")


def spread(values):
    return (max(values) - min(values)) / min(values) if values and min(values) else None


def main():
    with Scene() as scene:
        expect = scene.expect
        flags = [word for setting in ([] if FULL else SMALL) for word in ("--set", setting)]
        runs = [scene.run_file(f"run {number}", SCENARIO, *flags, limit=1800 if FULL else 400) for number in range(RUNS)]
        with open(f"{runs[0].out}/scenario.json") as file:
            scenario = json.load(file)
        load, mock = scenario["load"], scenario["endpoint"]["mock"]
        per_session = mock["tokens"] + 2
        rows = {}
        for run in runs:
            print(f"{run.name}: exit code {run.code}, warnings {sorted(set(run.codes))}")
            for v in run.variants:
                rows.setdefault(v["name"], []).append(v)
        for name, each in rows.items():
            expect(f"{name}: measured in every run", len(each) == RUNS, len(each))
            for number, v in enumerate(each):
                sessions, recovery = v["sessions"], v["recovery"]
                expect(f"{name}, run {number}: all sessions complete", sessions["completed"] == sessions["started"] == load["sessions"],
                       (sessions, {k: n for k, n in v["errors"].items() if n}, v["error_samples"]))
                expect(f"{name}, run {number}: nothing lost, doubled or corrupted",
                       recovery["delivered"] == recovery["expected"] == load["sessions"] * per_session
                       and recovery["lost"] + recovery["duplicated"] + recovery["corrupted"] + recovery["reordered"] == 0, recovery)
            # A stack with threads of its own is counted with all of its process, and what it allocates follows from how its
            # threads were run: a machine that makes them wait cannot show whether it repeats.
            waits = max(v["instrument"]["run_queue_wait_ratio"] or 0 for v in each)
            own = each[0]["client"]["stack"] in ("urlsession", "eventsource", "bytes-lines", "live-monitor")
            for figure in ("allocations_per_event", "allocated_bytes_per_event"):
                values = [v["memory"][figure] for v in each]
                if None in values:
                    expect(f"{name}: {figure} was measured", False, [v["memory"]["absent_because"] for v in each])
                    continue
                # Under a hundredth of an allocation an event, what is left is the run's own.
                close = max(values) < (0.01 if figure.startswith("allocations") else 4) or (spread(values) or 0) <= 0.05
                if own and not close and waits > 0.2:
                    print(f"{name}: {figure} {values}: not judged, the client waited for a core for {waits:.2f} of its time")
                    continue
                expect(f"{name}: {figure} repeats within 5 %", close, values)
            sizes = [v["bytes"]["count"] / v["events"]["count"] for v in each]
            expect(f"{name}: bytes an event repeat within 5 %", spread(sizes) <= 0.05, sizes)

        # The order by CPU an event, as a ratio to the first variant of the same run.
        first = next(iter(rows))
        ratios = {name: [v["instrument"]["cpu_s_per_million_events"] / rows[first][number]["instrument"]["cpu_s_per_million_events"]
                         for number, v in enumerate(each)] for name, each in rows.items()}
        orders = [sorted(rows, key=lambda name: rows[name][number]["instrument"]["cpu_s_per_million_events"]) for number in range(RUNS)]
        for number, order in enumerate(orders):
            print(f"order in run {number}: {' < '.join(order)}")
        overlapping = []
        for one, other in itertools.combinations(rows, 2):
            before = {order.index(one) < order.index(other) for order in orders}
            if len(before) > 1:
                overlapping.append((one, other))
        for one, other in overlapping:
            print(f"no order between {one} and {other}: {min(ratios[one]):.2f} to {max(ratios[one]):.2f} and "
                  f"{min(ratios[other]):.2f} to {max(ratios[other]):.2f} overlap")
        # Whole stacks and whole parsers are ranked by what they cost over all that they are combined with.
        for axis in ("stack", "parser", "decoder"):
            words = list(dict.fromkeys(v[0]["client"][axis] for v in rows.values()))
            if len(words) < 2:
                continue
            costs = {word: [sum(v[number]["instrument"]["cpu_s_per_million_events"] for v in rows.values() if v[0]["client"][axis] == word)
                            for number in range(RUNS)] for word in words}
            # In one interleaved run: the ratio to the first of the axis.
            against = {word: [costs[word][n] / costs[words[0]][n] for n in range(RUNS)] for word in words}
            ranking = [tuple(sorted(words, key=lambda word: costs[word][number])) for number in range(RUNS)]
            text = ", ".join(f"{word} {min(against[word]):.2f} to {max(against[word]):.2f}" for word in words)
            print(f"CPU an event by {axis}, against {words[0]}: {text}; orders {sorted(set(' < '.join(r) for r in ranking))}")
            for one, other in itertools.combinations(words, 2):
                signs = {costs[one][n] < costs[other][n] for n in range(RUNS)}
                near = all(abs(costs[one][n] / costs[other][n] - 1) < 0.25 for n in range(RUNS))
                if len(signs) > 1 and near:
                    print(f"{axis}: {one} and {other} are within 25 % of each other: no order")
                else:
                    expect(f"{axis}: the order of {one} and {other} is the same in each run", len(signs) == 1, (costs[one], costs[other]))

        sessions, tokens = load["sessions"], mock["tokens"]
        print(f"\n{sessions} sessions of {tokens} tokens, {load['concurrency']} at a time, {RUNS} runs; a range is over the runs\n")
        print("| variant | CPU µs an event | against the first | allocations an event | bytes allocated an event | memory a session | "
              "TTFT error p50 ms | ITL error p50 ms | parser ns an event | completed | lost |")
        print("| --- " + "| ---: " * 10 + "|")

        def shown(values, digits):
            values = [value for value in values if value is not None]
            if not values:
                return "–"
            low, high = f"{min(values):,.{digits}f}", f"{max(values):,.{digits}f}"
            return low if low == high else f"{low} to {high}"

        for name in sorted(rows, key=lambda name: min(v["instrument"]["cpu_s_per_million_events"] for v in rows[name])):
            each = rows[name]
            print(f"| {name} | {shown([v['instrument']['cpu_s_per_million_events'] for v in each], 1)} | {shown(ratios[name], 2)} | "
                  f"{shown([v['memory']['allocations_per_event'] for v in each], 3)} | {shown([v['memory']['allocated_bytes_per_event'] for v in each], 0)} | "
                  f"{shown([v['memory']['per_session_bytes'] for v in each], 0)} | {shown([v['instrument']['ttft_error_ms']['p50'] for v in each], 3)} | "
                  f"{shown([v['instrument']['itl_error_ms']['p50'] for v in each], 3)} | {shown([v['parser']['cpu_ns_per_event'] for v in each], 0)} | "
                  f"{shown([v['sessions']['completed'] for v in each], 0)} | {shown([v['recovery']['lost'] for v in each], 0)} |")
        print()
        # What the report itself says of them.
        report = runs[0].report()
        expect("report.md names every variant", all(re.search(re.escape(name), report) for name in rows))
        scene.finish()


main()
