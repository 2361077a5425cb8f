# What the runs say, in Markdown. In: the records of results.jsonl. Out: README.md. It computes nothing but medians,
# ranges and differences.

import statistics

import _peers

# How far the two sides of the mode agreement may lie apart, ms.
AGREE = {"p50": 1.0, "p99": 5.0}

SCALE_NOTES = """\
Every client sends the same requests to the same reference server (`refserver.c`, one thread, a fresh process for each run), all
at once: most of them know no ramp. Client and server share the machine. One run at a time; a cell is the median (lowest … highest)
where there is more than one run.

- **Timing error** is what the client reports minus what the server's own log of that run says, p50 and p99 in ms. The log has
  for each stream the instant at which the request had been read and the instant before each write. For TTFT that is request
  read → first token written. *From its start*: the clients count TTFT from before they connect, so waiting for a connection
  and for their own turn is in it; for ssebench that is `from_scheduled.ttft_ms`. *From the request sent* is ssebench's
  `ttft_ms`, which no other client here has. ITL: gaps between two tokens of a stream.
- **CPU** is user and system time of all processes of the client, per million token events that the server sent: over the whole
  run (start-up and report included), and between 20 % and 80 % of the events.
- **Peak memory** is the highest sum of the resident memory of its processes.
- The pace of each size is that of `Scenarios/scale/`: 10,000 sessions have a token every 100 ms, since at 50 ms client and server
  together need more than two cores. `--interval-ms` sets another.
- **Errors** are those that the client reports; *short* is what the server did not send to the end, of what was asked.
  *Live* is the most connections that the server saw at once.
"""


def title(name):
    peer = _peers.PEERS[name]
    return peer.title + (f" ({peer.note})" if peer.note else "")


def cell(values, digits=1, sign=False):
    values = [v for v in values if v is not None]
    if not values:
        return "–"
    form = f"{'+' if sign else ''},.{digits}f"
    middle, low, high = (format(round(v, digits) + 0.0, form) for v in (statistics.median(values), min(values), max(values)))
    return middle if low == high else f"{middle} ({low} … {high})"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join(["---"] + ["---:"] * (len(head) - 1)) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def outcome(record):
    """Why a run has no figures, or None."""
    if record["killed"]:
        return f"ended at its limit of {record['wall_s']:.0f} s"
    if record.get("unreadable"):
        return f"no report (exit code {record['exit_code']})"
    return None


def difference(record, reported, wire, quantile):
    ours, theirs = (record.get("reported") or {}).get(reported) or {}, (record.get("wire") or {}).get(wire) or {}
    if ours.get(quantile) is None or theirs.get(quantile) is None:
        return None
    return ours[quantile] - theirs[quantile]


def both(records, reported, wire):
    pair = [cell([difference(r, reported, wire, q) for r in records], 1, True) for q in ("p50", "p99")]
    return "–" if pair == ["–", "–"] else " / ".join(pair)


def scale(records, skipped):
    parts = [SCALE_NOTES]
    works = sorted({(r["live"], r["tokens"], r["first_ms"], r["interval_ms"]) for r in records})
    for work in works:
        live, tokens, first, interval = work
        rows = []
        for name in _peers.PEERS:
            mine = [r for r in records if (r["live"], r["tokens"], r["first_ms"], r["interval_ms"]) == work and r["peer"] == name]
            good = [r for r in mine if not outcome(r)]
            if not mine:
                if name in skipped:
                    rows.append([title(name), "0", f"not run: {skipped[name]}", *["–"] * 8])
                continue
            ends = sorted({outcome(r) for r in mine if outcome(r)})
            whole = [r for r in good if r["events"]]
            said = [(r.get("reported") or {}).get("failed") for r in good]
            missing = [max(r["requests"] - r["streams"], 0) for r in good]
            errors = "; ".join(ends) if ends else f"{cell(said, 0)}, short {cell(missing, 0)}"
            verdicts = sorted({(r.get("reported") or {}).get("verdict") for r in good} - {None, "passed"})
            codes = sorted({r["exit_code"] for r in good} - {0}) if not name.startswith("ssebench") else []
            if codes:
                errors += f", exit code {', '.join(map(str, codes))}"
            if verdicts:
                errors += f", verdict {', '.join(verdicts)}"
            ramps = sorted({r["ramp_s"] for r in mine} - {0})
            rows.append([title(name) + "".join(f", started over {ramp:g} s" for ramp in ramps), str(len(mine)), errors,
                         both(good, "ttft_ms", "ttft_ms"), both(good, "ttft_sent_ms", "ttft_ms"), both(good, "itl_ms", "itl_ms"),
                         cell([r["cpu_s_per_million"] for r in whole]),
                         cell([(r["window"] or {}).get("cpu_s_per_million") for r in whole]),
                         cell([r["peak_rss_bytes"] / 1e6 for r in mine], 0),
                         cell([r["most_live"] for r in mine], 0),
                         cell([r["wall_s"] for r in mine])])
        wire = [r["wire"] for r in records if (r["live"], r["tokens"], r["first_ms"], r["interval_ms"]) == work
                and r["peer"] == "truth" and r.get("wire", {}).get("itl_ms")]
        parts.append(f"### {live:,} sessions of {tokens} tokens at {interval:g} ms after {first:g} ms\n")
        parts.append(table(["client", "n", "errors", "TTFT error from its start, p50 / p99 ms", "TTFT error from the request sent",
                            "ITL error, p50 / p99 ms", "CPU s per million events, whole run", "the same, 20–80 %", "peak memory, MB",
                            "live", "wall, s"], rows))
        if wire:
            ttft, itl = ([cell([w[key][q] for w in wire], 1) for q in ("p50", "p99")] for key in ("ttft_ms", "itl_ms"))
            parts.append(f"By the server's log, in the runs of the minimal C client: TTFT p50 {ttft[0]}, p99 {ttft[1]} ms; "
                         f"ITL p50 {itl[0]}, p99 {itl[1]} ms.\n")
    return "\n".join(parts)


def cost(records, limits):
    parts = ["The clients in turn, one run at a time, for so many rounds; the order turns with each round. CPU is user and system time per\n"
             "million token events between 20 % and 80 % of the events, so start-up and report are left out; *whole run* has them. A ratio\n"
             "is that of two runs of one round; its cell is the median of the rounds (lowest … highest).\n"]
    for kind, heading in (("paced", "### Paced: {live:,} sessions, {tokens} tokens each, one every {interval_ms:g} ms"),
                          ("unpaced", "### Unpaced: {live} connections, {tokens} tokens a stream, 64 KiB turns")):
        mine = [r for r in records if r["kind"] == kind]
        if not mine:
            continue
        rows = []
        for name, server in dict.fromkeys((r["peer"], r["server"]) for r in mine):
            runs = [r for r in mine if (r["peer"], r["server"]) == (name, server) and not outcome(r)]
            reads = [(r.get("reported") or {}).get("events_per_read") for r in runs]
            rows.append([_peers.PEERS[name].title, server, str(len(runs)),
                         cell([(r["window"] or {}).get("cpu_s_per_million") for r in runs], 2),
                         cell([r["cpu_s_per_million"] for r in runs], 2),
                         "at most 38" if name == "wrk" and kind == "unpaced" else cell(reads, 1),
                         cell([r["events_per_write"] for r in runs], 2),
                         cell([r["window"]["events"] / r["window"]["seconds"] for r in runs if r["window"]], 0),
                         cell([(r["window"] or {}).get("server_cpu_s_per_million") for r in runs], 2)])
        parts.append(heading.format(**mine[0]) + "\n")
        parts.append(table(["client", "server", "n", "CPU s per million events", "whole run", "events per read", "events per write",
                            "events/s", "server's CPU s per million events"], rows))
        if kind == "unpaced":
            parts.append("wrk reads at most 8 KiB at a time and counts no events: its events per read are the most that fit. For `curl` a read\n"
                         "is a piece that libcurl hands over, one for each HTTP chunk. `refserver-packed` puts 128 events into a write, as\n"
                         "the mock does for unpaced streams.\n")
    parts.append("### Ratios\n")
    parts.append(table(["what", "rounds", "ratio", "limit", "median within it"], [
        [limit["what"], str(len(limit["ratios"])), cell(limit["ratios"], 2), "none" if limit["at_most"] is None else f"{limit['at_most']:g}",
         "–" if not limit["ratios"] or limit["at_most"] is None else "yes" if statistics.median(limit["ratios"]) <= limit["at_most"] else "**no**"]
        for limit in limits]))
    return "\n".join(parts)


def agreement(records):
    rows = []
    for r in records:
        a = r.get("agreement")
        if not a:
            rows.append([_peers.PEERS[r["peer"]].title, r["server"], *["–"] * 7, f"**no**: {outcome(r) or 'no figures'}"])
            continue

        def two(key):
            figures = a.get(key) or {}
            return " / ".join(f"{figures[q]:.2f}" if figures.get(q) is not None else "–" for q in ("p50", "p99"))

        rows.append([_peers.PEERS[r["peer"]].title, r["server"], f"{a['client_tokens']:,} / {a['server_tokens']:,}",
                     two("ttft_client_ms"), two("ttft_server_ms"), two("ttft_error_ms"),
                     two("itl_client_ms"), two("itl_server_ms"), two("itl_error_ms"), "yes" if not a["problems"] else "**no**: " + "; ".join(a["problems"])])
    return ("Each client against a server that says itself what it sent: the reference server by its log, ssebench's mock by the stamps in\n"
            "its events and its counts. TTFT counts from the request sent, at the client, or read, at the server; ITL is the gap of two\n"
            "tokens. *Error* is the distance of the two sides: for the C client of each arrival and each gap from the stamps in the events,\n"
            "for ssebench of each session's TTFT from the log, and for its gaps, of which it keeps a histogram, the difference of the\n"
            "percentiles; `results.jsonl` also has the error of each session's longest gap and of first → last token. p50 / p99, ms. Both\n"
            f"sides agree where all tokens are there and p50 and p99 lie within {AGREE['p50']:g} and {AGREE['p99']:g} ms.\n\n"
            + table(["client", "server", "tokens, client / server", "TTFT, client", "TTFT, server", "TTFT error", "ITL, client",
                     "ITL, server", "ITL error", "agree"], rows))
