// A summary becomes `report.md`: for reading in a terminal, a repository or a GitHub step summary. Every numeral in a
// table or chart is one of `summary.json`, rounded.

package import Analysis
internal import Primitives
internal import Recording

package enum MarkdownReport {
  package static func text(_ summary: Summary, charts: ChartData) -> String {
    var page = MarkdownPage()
    let run = summary.tree["run"] ?? .null
    page.heading(1, run["name"]?.asString ?? "run")
    page.paragraph("**\(summary.verdict.title).** " + summary.reasons.map(MarkdownPage.sentence).joined(separator: " "))
    five(summary, &page)
    warnings(summary, &page)
    gates(summary, &page)
    variants(summary, &page)
    for variant in summary.variants { latencies(summary, variant, charts, &page) }
    recovery(summary, &page)
    memory(summary, &page)
    instrument(summary, &page)
    page.hosts(summary)
    names(&page)
    reproduce(summary, &page)
    if !charts.problems.isEmpty {
      page.heading(2, "Not shown")
      page.list(charts.problems.map(MarkdownPage.escaped))
    }
    return page.text
  }

  private static func title(_ summary: Summary, _ variant: JSONValue, _ text: String) -> String {
    summary.variants.count > 1 ? "\(text): \(variant["name"]?.asString ?? "")" : text
  }

  private static func five(_ summary: Summary, _ page: inout MarkdownPage) {
    guard summary.variants.count <= 3 else { return }
    for variant in summary.variants {
      if summary.variants.count > 1 { page.paragraph("**\(MarkdownPage.escaped(variant["name"]?.asString ?? ""))**") }
      page.table(
        ["", "", ""],
        Headline.five(variant).map { ["**\($0.label)**", "**\($0.value)** \($0.unit)", $0.detail] }, right: [])
    }
  }

  private static func warnings(_ summary: Summary, _ page: inout MarkdownPage) {
    guard !summary.warnings.isEmpty else { return }
    page.heading(2, "Warnings")
    page.list(
      WarningGroup.of(summary.warnings).map { group in
        "`\(MarkdownPage.code(group.code))` \(group.messages.map(MarkdownPage.sentence).joined(separator: " "))"
          + " **→** \(MarkdownPage.sentence(group.hint))"
      })
  }

  private static func gates(_ summary: Summary, _ page: inout MarkdownPage) {
    guard !summary.gates.isEmpty else { return }
    page.heading(2, "Gates")
    page.table(
      ["gate", "variant", "observed", "held", "why"],
      summary.gates.map { gate in
        [
          "`\(MarkdownPage.code(gate.expression))`", MarkdownPage.escaped(gate.variant ?? ""),
          gate.observed.map { Number.text($0) } ?? "–", gate.held.map { $0 ? "yes" : "**no**" } ?? "not judged",
          MarkdownPage.escaped(gate.reason ?? ""),
        ]
      }, right: [2])
  }

  /// The rows that stand side by side where there are several variants.
  static let compared: [(key: String, label: String)] = [
    ("sessions.completed", "sessions completed"), ("sessions.failed", "sessions failed"), ("errors_ratio", "errors_ratio"),
    ("ttft_ms.p50", "ttft_ms p50"), ("ttft_ms.p99", "ttft_ms p99"), ("itl_ms.p50", "itl_ms p50"),
    ("itl_ms.p99", "itl_ms p99"), ("tpot_ms.p50", "tpot_ms p50"), ("e2e_ms.p50", "e2e_ms p50"),
    ("e2e_ms.p99", "e2e_ms p99"), ("tokens.per_s", "tokens per s"), ("events.per_s", "events per s"),
    ("goodput.ratio", "goodput ratio"), ("parser.cpu_ns_per_event", "parser CPU, ns an event"),
    ("instrument.cpu_s_per_million_events", "client CPU, s a million events"),
    ("memory.per_session_bytes", "memory, bytes a session"), ("memory.slope_bytes_per_token", "memory, bytes a token"),
    ("memory.allocations_per_event", "allocations an event"), ("recovery.lost", "events lost"),
    ("recovery.duplicated", "events duplicated"), ("recovery.time_ms.p50", "recovery time_ms p50"),
  ]

  static func value(_ variant: JSONValue, _ key: String) -> JSONValue? {
    key.split(separator: ".").reduce(Optional(variant)) { $0?[String($1)] }
  }

  private static func variants(_ summary: Summary, _ page: inout MarkdownPage) {
    guard summary.variants.count > 1 else { return }
    page.heading(2, "Variants side by side")
    let rows = compared.compactMap { row -> [String]? in
      let values = summary.variants.map { Number.text(value($0, row.key)) }
      return values.allSatisfy { $0 == "–" } ? nil : [row.label] + values
    }
    page.table(
      ["figure"] + summary.variants.map { MarkdownPage.escaped($0["name"]?.asString ?? "") }, rows,
      right: Array(1...summary.variants.count))
    page.paragraph("`ssebench compare RUN` says which of these differences are more than noise.")
    let ranking = ClientRanking(summary)
    guard !ranking.rows.isEmpty else { return }
    page.heading(2, "Clients, the cheapest first")
    page.table(
      ClientRanking.columns, ranking.rows.map { row in row.enumerated().map { $0.offset == 1 ? MarkdownPage.escaped($0.element) : $0.element } },
      right: [0] + Array(2..<ClientRanking.columns.count))
    page.paragraph(ClientRanking.note)
  }

  private static func latencies(
    _ summary: Summary, _ variant: JSONValue, _ charts: ChartData, _ page: inout MarkdownPage
  ) {
    page.heading(2, title(summary, variant, "Latencies"))
    let sessions = variant["sessions"] ?? .null
    page.paragraph(
      "Sessions: \(Number.text(sessions["started"])) started, \(Number.text(sessions["completed"])) completed, "
        + "\(Number.text(sessions["failed"])) failed, \(Number.text(sessions["cancelled"])) cancelled, "
        + "\(Number.text(sessions["dropped"])) dropped; at most \(Number.text(sessions["peak_live"])) live at a time. "
        + "Measured for \(Number.text(variant["measured_s"])) s. Tokens: \(Number.text(variant["tokens"]?["count"]))"
        + (variant["tokens"]?["source"]?.asString.map { " (counted from `\($0)`)" } ?? "") + ".")
    page.paragraph(
      "In milliseconds, counted from `\(variant["counts_from"]?.asString ?? "request_sent")` unless the name says "
        + "`from_scheduled`. A dash stands where a figure was not measured or the sample is too small for it.")
    var rows: [[String]] = []
    for metric in Metric.allCases where [.top, .fromScheduled, .cancel, .wukongim].contains(metric.section) {
      let path = VariantFigures.path(metric)
      guard let figures = value(variant, path), figures["count"]?.asInt ?? 0 > 0 else { continue }
      rows.append(
        ["`\(path)`"] + ["count", "mean", "p50", "p90", "p95", "p99", "p999", "max"].map { Number.text(figures[$0]) })
    }
    page.table(["figure", "count", "mean", "p50", "p90", "p95", "p99", "p99.9", "max"], rows, right: Array(1...8))
    ladder(variant, &page)
    sparks(variant, charts, &page)
    definitions(rows.map { String($0[0].dropFirst().dropLast()) }, &page)
    errors(variant, &page)
  }

  /// The percentiles of the two most asked-for latencies as bars.
  private static func ladder(_ variant: JSONValue, _ page: inout MarkdownPage) {
    var lines: [String] = []
    for key in ["ttft_ms", "itl_ms"] {
      guard let figures = variant[key], let top = figures["max"]?.asDouble, top > 0 else { continue }
      lines.append(key)
      for field in ["min", "p50", "p90", "p95", "p99", "p999", "max"] {
        guard let value = figures[field]?.asDouble else { continue }
        let name = field == "p999" ? "p99.9" : field
        lines.append(
          "  \(MarkdownPage.padded(name, 6))\(MarkdownPage.padded(TextChart.bar(value, of: top), 31))\(Number.text(value))")
      }
    }
    page.code(lines)
  }

  private static func sparks(_ variant: JSONValue, _ charts: ChartData, _ page: inout MarkdownPage) {
    guard let data = charts.variants.first(where: { $0.name == variant["name"]?.asString }), data.seconds.count > 1 else { return }
    let rows = data.seconds
    var lines = ["over time, each against its own peak"]
    let series: [(String, [Double])] = [
      ("live", rows.map { Double($0.live) }), ("events/s", rows.map { Double($0.events) }),
      ("ttft p50", rows.map { Double(max(0, $0.ttftP50)) }), ("failed", rows.map { Double($0.failed) }),
      ("cpu", rows.map(\.cpu)),
    ]
    for (name, values) in series {
      let spark = TextChart.spark(values)
      if !spark.isEmpty { lines.append("  \(MarkdownPage.padded(name, 10))\(spark)") }
    }
    page.code(lines)
  }

  private static func definitions(_ paths: [String], _ page: inout MarkdownPage) {
    page.paragraph("What they are:")
    page.list(
      Metric.allCases.filter { paths.contains(VariantFigures.path($0)) }.map {
        "`\(VariantFigures.path($0))`: \($0.definition)"
      })
  }

  private static func errors(_ variant: JSONValue, _ page: inout MarkdownPage) {
    let seen = (variant["errors"]?.asObject?.pairs ?? []).filter { ($0.value.asInt ?? 0) > 0 }
    guard !seen.isEmpty else { return }
    page.paragraph("Errors by kind (errors_ratio \(Number.text(variant["errors_ratio"]))):")
    page.table(
      ["kind", "count", "for example"],
      seen.map { kind, count in
        let sample = variant["error_samples"]?[kind]?[0]?.asString ?? ""
        return [kind, Number.text(count), MarkdownPage.escaped(sample)]
      }, right: [1])
  }

  private static func recovery(_ summary: Summary, _ page: inout MarkdownPage) {
    let with = summary.variants.filter { $0["recovery"]?.asObject != nil }
    guard !with.isEmpty else { return }
    page.heading(2, "Recovery")
    let counts = [
      "disconnects", "reconnects", "recovered", "never_recovered", "expected", "delivered", "lost", "undelivered",
      "duplicated", "reordered", "corrupted", "unnumbered", "restarted_tokens",
    ]
    page.table(
      ["variant"] + counts,
      with.map { variant in
        [MarkdownPage.escaped(variant["name"]?.asString ?? "")] + counts.map { Number.text(variant["recovery"]?[$0]) }
      }, right: Array(1...counts.count))
    worstSessions(summary, with, &page)
    let timed = with.filter { $0["recovery"]?["time_ms"]?["count"]?.asInt ?? 0 > 0 }
    guard !timed.isEmpty else { return }
    var rows: [[String]] = []
    for variant in timed {
      for metric in Metric.allCases where metric.section == .recovery {
        guard let figures = variant["recovery"]?[metric.key], figures["count"]?.asInt ?? 0 > 0 else { continue }
        rows.append(
          [MarkdownPage.escaped(variant["name"]?.asString ?? ""), "`\(metric.key)`"]
            + ["count", "mean", "p50", "p90", "p99", "max"].map { Number.text(figures[$0]) }
            + [MarkdownPage.escaped(metric.definition)])
      }
    }
    page.table(["variant", "figure", "count", "mean", "p50", "p90", "p99", "max", "what it is"], rows, right: Array(2...7))
  }

  /// Each with the command that runs it again; the mock's stream follows from seed and session alone.
  private static func worstSessions(_ summary: Summary, _ variants: [JSONValue], _ page: inout MarkdownPage) {
    let seed = seed(summary.tree["run"] ?? .null)
    let rows = variants.flatMap { variant in
      (variant["recovery"]?["worst_sessions"]?.asArray ?? []).map { session in
        [
          MarkdownPage.escaped(variant["name"]?.asString ?? ""), Number.text(session["session"]),
          Number.text(session["repetition"]), MarkdownPage.escaped(session["why"]?.asString ?? ""),
          "`ssebench run scenario.json --seed \(seed) --session \(Number.text(session["session"]))`",
        ]
      }
    }
    guard !rows.isEmpty else { return }
    page.paragraph("The worst sessions, and how to run one again:")
    page.table(["variant", "session", "repetition", "why", "again"], rows, right: [1, 2])
  }

  private static func memory(_ summary: Summary, _ page: inout MarkdownPage) {
    let with = summary.variants.filter { $0["memory"]?["peak_rss_bytes"] != nil || $0["memory"]?["absent_because"]?.asString != nil }
    guard !with.isEmpty else { return }
    page.heading(2, "Memory")
    let keys = [
      "per_session_bytes", "slope_bytes_per_token", "allocations_per_event", "allocated_bytes_per_event",
      "peak_allocated_bytes", "peak_rss_bytes", "after_teardown_bytes", "idle_bytes", "sampling_cpu_ratio",
    ]
    let rows = with.compactMap { variant -> [String]? in
      guard let memory = variant["memory"], memory["peak_rss_bytes"] != nil else { return nil }
      let interval = memory["ci95"]?.asArray.map { "\(Number.text($0.first)) to \(Number.text($0.last))" } ?? "–"
      let says = memory["growth"]?.asBool == true ? "growth" : memory["flat"]?.asBool == true ? "flat" : "not shown"
      return [MarkdownPage.escaped(variant["name"]?.asString ?? "")] + keys.map { Number.text(memory[$0]) } + [interval, says]
    }
    if !rows.isEmpty {
      page.table(["variant"] + keys + ["ci95 of the slope", "so it is"], rows, right: Array(1...keys.count))
      page.paragraph(
        "`slope_bytes_per_token`: least squares of allocated bytes over tokens received, per session, on the plateau; "
          + "its interval from a block bootstrap over time. Flat: the interval holds zero and lies within one byte of it.")
      if with.contains(where: { $0["memory"]?["allocations_of"]?.asString == "process" }) {
        page.paragraph(
          "URLSession works on threads of its own: for such stacks the allocations and bytes an event are those of the whole "
            + "process, for the others those of the worker threads (`memory.allocations_of`).")
      }
    }
    page.list(
      with.flatMap { variant in
        [("absent_because", "not measured"), ("per_session_absent_because", "no `per_session_bytes`")].compactMap { key, what in
          variant["memory"]?[key]?.asString.map {
            "\(MarkdownPage.escaped(variant["name"]?.asString ?? "")): \(what): \(MarkdownPage.escaped($0))"
          }
        }
      })
  }

  private static func instrument(_ summary: Summary, _ page: inout MarkdownPage) {
    page.heading(2, "What the instrument did to the figures")
    var rows: [[String]] = []
    for variant in summary.variants {
      let name = MarkdownPage.escaped(variant["name"]?.asString ?? "")
      for metric in Metric.allCases where metric.section == .instrument {
        guard let figures = variant["instrument"]?[metric.key], figures["count"]?.asInt ?? 0 > 0 else { continue }
        rows.append(
          [name, "`\(metric.key)`"] + ["count", "p50", "p99", "max"].map { Number.text(figures[$0]) }
            + [MarkdownPage.escaped(metric.definition)])
      }
    }
    page.table(["variant", "figure", "count", "p50", "p99", "max", "what it is"], rows, right: Array(2...5))
    page.list(
      summary.variants.map { variant in
        let own = variant["instrument"] ?? .null
        return "\(MarkdownPage.escaped(variant["name"]?.asString ?? "")): cpu_ratio \(Number.text(own["cpu_ratio"])), "
          + "cpu_s_per_million_events \(Number.text(own["cpu_s_per_million_events"])), run_queue_wait_ratio "
          + "\(Number.text(own["run_queue_wait_ratio"])); bottleneck: \(MarkdownPage.escaped(own["bottleneck"]?.asString ?? "none"))"
      })
  }

  private static func names(_ page: inout MarkdownPage) {
    page.heading(2, "What other tools call these figures")
    page.table(
      ["here", "", "its name", "tool", "mind"],
      Metric.namesElsewhere.map {
        ["`\(VariantFigures.path($0.metric))`", $0.isSame ? "equals" : "is near", $0.name, $0.tool, $0.note]
      }, right: [])
  }

  private static func reproduce(_ summary: Summary, _ page: inout MarkdownPage) {
    let run = summary.tree["run"] ?? .null
    let machine = summary.tree["machine"] ?? .null
    page.heading(2, "How to reproduce it")
    page.code(["ssebench run scenario.json --seed \(seed(run))"])
    var facts = [
      "as asked: `\(MarkdownPage.code(run["command"]?.asString ?? ""))`",
      "ssebench \(MarkdownPage.escaped(run["version"]?.asString ?? "")) (\(MarkdownPage.escaped(run["build"]?.asString ?? ""))), seed \(seed(run))",
      "started \(MarkdownPage.escaped(run["started_at"]?.asString ?? "")), took \(Number.text(run["duration_s"])) s",
      "machine: \(MarkdownPage.escaped(machine["processor"]?.asString ?? "")), \(Number.text(machine["cores"])) cores, "
        + "\(Number.text(machine["memory_bytes"])) bytes of memory, \(MarkdownPage.escaped(machine["system"]?.asString ?? "")) "
        + "\(MarkdownPage.escaped(machine["kernel"]?.asString ?? ""))",
      "the scenario as used, every default filled in, is `scenario.json` beside this file; every figure is in `summary.json`",
    ]
    if let index = run["shard"]?["index"], let count = run["shard"]?["count"] {
      facts.append("shard \(Number.text(index)) of \(Number.text(count))")
    }
    page.list(facts)
  }

  private static func seed(_ run: JSONValue) -> String { run["seed"]?.asString ?? Number.text(run["seed"]) }
}
