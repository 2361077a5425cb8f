// A summary becomes `report.html`: one file that needs no network and no script. First the verdict in words, five
// figures and the warnings; then charts, tables with definitions, and how to reproduce the run.

package import Analysis
internal import Primitives
internal import Recording

package enum HTMLReport {
  package static func text(_ summary: Summary, charts: ChartData) -> String {
    var page = HTMLPage()
    head(summary, &page)
    five(summary, &page)
    if summary.variants.count > 3 { variants(summary, &page) }
    warnings(summary, &page)
    page.gates(summary.gates)
    if summary.variants.count <= 3 { variants(summary, &page) }
    drawings(summary, charts, &page)
    for variant in summary.variants { latencies(summary, variant, &page) }
    errors(summary, &page)
    recovery(summary, &page)
    memory(summary, &page)
    instrument(summary, &page)
    page.hosts(summary)
    names(&page)
    reproduce(summary, charts, &page)
    return page.document(title: "\(summary.verdict.title): \(summary.tree["run"]?["name"]?.asString ?? "run")")
  }

  private static func name(_ variant: JSONValue) -> String { variant["name"]?.asString ?? "" }

  private static func head(_ summary: Summary, _ page: inout HTMLPage) {
    let run = summary.tree["run"] ?? .null
    let machine = summary.tree["machine"] ?? .null
    page.raw("<h1>\(HTMLPage.escaped(run["name"]?.asString ?? "run"))</h1>")
    let meta = [
      run["started_at"]?.asString ?? "", "\(Number.text(run["duration_s"])) s",
      "seed \(run["seed"]?.asString ?? Number.text(run["seed"]))",
      "ssebench \(run["version"]?.asString ?? "") (\(run["build"]?.asString ?? ""))",
      machine["processor"]?.asString ?? "", "\(Number.text(machine["cores"])) cores",
    ]
    page.raw("<p class=\"meta\">\(HTMLPage.escaped(meta.filter { !$0.isEmpty }.joined(separator: " · ")))</p>")
    let mark =
      switch summary.verdict {
      case .passed: "✓"
      case .failed: "✗"
      case .invalid: "!"
      case .partial: "◐"
      }
    page.raw(
      "<section class=\"verdict \(summary.verdict.rawValue)\" aria-label=\"Verdict\"><span class=\"mark\" aria-hidden=\"true\">\(mark)</span><div>"
        + "<strong>\(summary.verdict.title)</strong>"
        + summary.reasons.map { "<p>\(HTMLPage.sentence($0))</p>" }.joined() + "</div></section>")
  }

  private static func five(_ summary: Summary, _ page: inout HTMLPage) {
    // More than three variants are read better side by side, which comes next.
    guard summary.variants.count <= 3 else { return }
    for variant in summary.variants {
      if summary.variants.count > 1 { page.raw("<div class=\"name\">\(HTMLPage.escaped(name(variant)))</div>") }
      page.raw("<section class=\"five\" aria-label=\"The figures that matter\">")
      for figure in Headline.five(variant) {
        page.raw(
          "<div><div class=\"label\">\(HTMLPage.escaped(figure.label))</div><div class=\"value\">\(HTMLPage.escaped(figure.value))"
            + " <span class=\"unit\">\(HTMLPage.escaped(figure.unit))</span></div><div class=\"detail\">\(HTMLPage.escaped(figure.detail))</div></div>")
      }
      page.raw("</section>")
    }
  }

  private static func warnings(_ summary: Summary, _ page: inout HTMLPage) {
    guard !summary.warnings.isEmpty else { return }
    let (few, groups) = (
      WarningGroup.of(summary.warnings.filter { $0.code == "sample_too_small" }),
      WarningGroup.of(summary.warnings.filter { $0.code != "sample_too_small" })
    )
    page.raw("<section aria-label=\"Warnings\"><ul class=\"warnings\">")
    for group in groups {
      let isBad = Judgement.invalidating.contains(group.code)
      let messages = group.messages.map { "<div>\(HTMLPage.sentence($0))</div>" }.joined()
      page.raw(
        "<li\(isBad ? " class=\"bad\"" : "")><code>\(HTMLPage.escaped(group.code))</code> \(messages)"
          + "<p class=\"hint\">→ \(HTMLPage.sentence(group.hint))</p></li>")
    }
    page.raw("</ul>")
    if !few.isEmpty {
      // What is left out is worth a line, not half of the first screen.
      let lines = few.flatMap { group in group.messages.map { "<li>\(HTMLPage.sentence($0))</li>" } }
      page.raw(
        "<details class=\"few\"><summary><code>sample_too_small</code> Some percentiles are left out: too few values</summary>"
          + "<ul>\(lines.joined())</ul>\(few.map { "<p class=\"hint\">→ \(HTMLPage.sentence($0.hint))</p>" }.joined())</details>")
    }
    page.raw("</section>")
  }

  private static func variants(_ summary: Summary, _ page: inout HTMLPage) {
    guard summary.variants.count > 1 else { return }
    page.heading("Variants side by side", id: "variants")
    let rows = MarkdownReport.compared.compactMap { row -> [HTMLPage.Cell]? in
      let values = summary.variants.map { Number.text(MarkdownReport.value($0, row.key)) }
      return values.allSatisfy { $0 == "–" } ? nil : [.text(row.label)] + values.map { .number($0) }
    }
    page.table(["figure"] + summary.variants.map(name), rows, caption: "Variants side by side")
    page.raw("<p class=\"note\"><code>ssebench compare RUN</code> says which of these differences are more than noise.</p>")
    let ranking = ClientRanking(summary)
    guard !ranking.rows.isEmpty else { return }
    page.heading("Clients, the cheapest first", id: "ranking")
    page.table(
      ClientRanking.columns, ranking.rows.map { row in row.enumerated().map { $0.offset == 1 ? .text($0.element) : .number($0.element) } },
      caption: "Clients, the cheapest first")
    page.raw("<p class=\"note\">\(ClientRanking.note)</p>")
  }

  private static func drawings(_ summary: Summary, _ charts: ChartData, _ page: inout HTMLPage) {
    func section(_ title: String, _ id: String, _ drawings: String) {
      guard !drawings.isEmpty else { return }
      page.heading(title, id: id)
      page.raw("<div class=\"charts\">\(drawings)</div>")
    }
    let hasTokens = charts.variants.contains { ($0.histograms[.ttft]?.count ?? 0) > 0 }
    section(
      "Distributions", "distributions",
      Charts.distribution(hasTokens ? .ttft : .firstEvent, hasTokens ? "Time to first token" : "Time to first event", charts)
        + Charts.distribution(hasTokens ? .itl : .eventGap, hasTokens ? "Between tokens" : "Between events", charts))
    section("Over time", "time", Charts.seconds(charts))
    section("Memory over tokens", "memory-chart", Charts.memory(charts, summary))
    section("Recoveries", "recovery-chart", charts.variants.contains { !$0.recoveries.isEmpty } ? Charts.recoveries(charts) : "")
    let strips = charts.variants.prefix(4).enumerated().map {
      Charts.strip($1, $0 % 6, isAlone: charts.variants.count == 1)
    }
    section("Session by session", "sessions", strips.joined())
  }

  private static func latencies(_ summary: Summary, _ variant: JSONValue, _ page: inout HTMLPage) {
    let title = summary.variants.count > 1 ? "Latencies: \(name(variant))" : "Latencies"
    page.heading(title, id: "latencies-\(Slug.of(name(variant)))")
    page.note(
      "Milliseconds, counted from \(variant["counts_from"]?.asString ?? "request_sent") unless the name says from_scheduled. "
        + "A dash stands where a figure was not measured or the sample is too small for it.")
    let fields = ["count", "mean", "stddev", "min", "p50", "p90", "p95", "p99", "p999", "max"]
    var rows: [[HTMLPage.Cell]] = []
    for metric in Metric.allCases where [.top, .fromScheduled, .cancel, .wukongim].contains(metric.section) {
      let path = VariantFigures.path(metric)
      guard let figures = MarkdownReport.value(variant, path), figures["count"]?.asInt ?? 0 > 0 else { continue }
      rows.append([.code(path)] + fields.map { .number(Number.text(figures[$0])) } + [.definition(metric.definition)])
    }
    page.table(["figure"] + fields.map { $0 == "p999" ? "p99.9" : $0 } + ["what it is"], rows, caption: title)
    let single: [(String, String)] = [
      ("sessions.started", "sessions started"), ("sessions.completed", "completed"), ("sessions.failed", "failed"),
      ("sessions.cancelled", "cancelled"), ("sessions.dropped", "dropped"), ("sessions.peak_live", "most live at a time"),
      ("errors_ratio", "errors_ratio"), ("events.count", "events"), ("events.per_s", "events per s"),
      ("tokens.count", "tokens"), ("tokens.per_s", "tokens per s"), ("bytes.count", "bytes"), ("reads.events_per_read", "events a read"),
      ("goodput.sessions_per_s", "goodput, sessions per s"), ("goodput.ratio", "goodput ratio"),
      ("streaming.fake_ratio", "streamed in one piece, share"),
      ("streaming.burst_ratio", "tokens that came with others in one read, share"), ("streaming.stalls", "stalls"),
      ("streaming.tokens_per_event", "tokens an event"), ("parser.cpu_ns_per_event", "parser CPU, ns an event"),
    ]
    let cells = single.compactMap { key, label -> [HTMLPage.Cell]? in
      let value = Number.text(MarkdownReport.value(variant, key))
      return value == "–" ? nil : [.text(label), .code(key), .number(value)]
    }
    page.raw("<details><summary>Counts and rates</summary>")
    page.table(["what", "key", "value"], cells, caption: "Counts and rates")
    page.raw("</details>")
  }

  private static func errors(_ summary: Summary, _ page: inout HTMLPage) {
    var rows: [[HTMLPage.Cell]] = []
    for variant in summary.variants {
      for (kind, count) in variant["errors"]?.asObject?.pairs ?? [] where (count.asInt ?? 0) > 0 {
        let samples = (variant["error_samples"]?[kind]?.asArray ?? []).compactMap(\.asString)
        rows.append([.text(name(variant)), .code(kind), .number(Number.text(count)), .text(samples.joined(separator: " · "))])
      }
    }
    guard !rows.isEmpty else { return }
    page.heading("Errors", id: "errors")
    page.table(["variant", "kind", "count", "for example"], rows, caption: "Errors by kind")
  }

  private static func recovery(_ summary: Summary, _ page: inout HTMLPage) {
    let with = summary.variants.filter { $0["recovery"]?.asObject != nil }
    guard !with.isEmpty else { return }
    page.heading("Recovery", id: "recovery")
    let counts = [
      "disconnects", "reconnects", "recovered", "never_recovered", "expected", "delivered", "lost", "undelivered",
      "duplicated", "reordered", "corrupted", "unnumbered", "restarted_tokens",
    ]
    page.table(
      ["variant"] + counts,
      with.map { variant in [.text(name(variant))] + counts.map { .number(Number.text(variant["recovery"]?[$0])) } },
      caption: "Ledger of events")
    worstSessions(summary, with, &page)
    latencyTable(with, .recovery, &page, caption: "Recovery times")
  }

  /// Each with the command that runs it again.
  private static func worstSessions(_ summary: Summary, _ variants: [JSONValue], _ page: inout HTMLPage) {
    let run = summary.tree["run"] ?? .null
    let seed = run["seed"]?.asString ?? Number.text(run["seed"])
    let rows = variants.flatMap { variant in
      (variant["recovery"]?["worst_sessions"]?.asArray ?? []).map { session -> [HTMLPage.Cell] in
        let number = Number.text(session["session"])
        return [
          .text(name(variant)), .number(number), .number(Number.text(session["repetition"])),
          .text(session["why"]?.asString ?? ""), .code("ssebench run scenario.json --seed \(seed) --session \(number)"),
        ]
      }
    }
    guard !rows.isEmpty else { return }
    page.table(["variant", "session", "repetition", "why", "again"], rows, caption: "The worst sessions, and how to run one again")
  }

  private static func memory(_ summary: Summary, _ page: inout HTMLPage) {
    let with = summary.variants.filter { $0["memory"]?.asObject != nil }
    guard !with.isEmpty else { return }
    page.heading("Memory", id: "memory")
    let keys = [
      "per_session_bytes", "slope_bytes_per_token", "allocations_per_event", "allocated_bytes_per_event",
      "peak_allocated_bytes", "peak_rss_bytes", "after_teardown_bytes", "idle_bytes", "sampling_cpu_ratio",
    ]
    page.table(
      ["variant"] + keys + ["95 % of the slope", "so it is"],
      with.map { variant in
        let memory = variant["memory"] ?? .null
        let interval = memory["ci95"]?.asArray.map { "\(Number.text($0.first)) to \(Number.text($0.last))" } ?? "–"
        let says = memory["growth"]?.asBool == true ? "growth" : memory["flat"]?.asBool == true ? "flat" : "not shown"
        return [.text(name(variant))] + keys.map { .number(Number.text(memory[$0])) } + [
          .number(interval), .text(memory["absent_because"]?.asString ?? says),
        ]
      }, caption: "Memory")
    for variant in with {
      if let why = variant["memory"]?["per_session_absent_because"]?.asString {
        page.note("\(name(variant)): no per_session_bytes: \(why).")
      }
    }
    page.note(
      "slope_bytes_per_token: least squares of allocated bytes over tokens received, per session, on the plateau; its interval from a block bootstrap over time. Flat: the interval holds zero and lies within one byte of it.")
  }

  private static func instrument(_ summary: Summary, _ page: inout HTMLPage) {
    page.heading("What the instrument did to the figures", id: "instrument")
    latencyTable(summary.variants, .instrument, &page, caption: "The instrument's own times")
    let keys = ["cpu_ratio", "cpu_s_per_million_events", "busiest_worker_ratio", "run_queue_wait_ratio", "workers"]
    page.table(
      ["variant"] + keys + ["bottleneck"],
      summary.variants.map { variant in
        let own = variant["instrument"] ?? .null
        return [.text(name(variant))] + keys.map { .number(Number.text(own[$0])) } + [.text(own["bottleneck"]?.asString ?? "none")]
      }, caption: "The instrument's own load")
  }

  private static func latencyTable(
    _ variants: [JSONValue], _ section: Metric.Section, _ page: inout HTMLPage, caption: String
  ) {
    var rows: [[HTMLPage.Cell]] = []
    let fields = ["count", "mean", "p50", "p90", "p99", "p999", "max"]
    for variant in variants {
      for metric in Metric.allCases where metric.section == section {
        guard let figures = MarkdownReport.value(variant, VariantFigures.path(metric)), figures["count"]?.asInt ?? 0 > 0
        else { continue }
        rows.append(
          [.text(name(variant)), .code(metric.key)] + fields.map { .number(Number.text(figures[$0])) }
            + [.definition(metric.definition)])
      }
    }
    page.table(
      ["variant", "figure"] + fields.map { $0 == "p999" ? "p99.9" : $0 } + ["what it is"], rows, caption: caption)
  }

  private static func names(_ page: inout HTMLPage) {
    page.heading("What other tools call these figures", id: "names")
    page.table(
      ["here", "", "its name", "tool", "mind"],
      Metric.namesElsewhere.map { name in
        [
          .code(VariantFigures.path(name.metric)), .text(name.isSame ? "equals" : "is near"), .text(name.name),
          .text(name.tool), .definition(name.note),
        ]
      },
      caption: "Names in other tools")
  }

  private static func reproduce(_ summary: Summary, _ charts: ChartData, _ page: inout HTMLPage) {
    let run = summary.tree["run"] ?? .null
    let machine = summary.tree["machine"] ?? .null
    page.heading("How to reproduce it", id: "reproduce")
    page.raw("<pre>ssebench run scenario.json --seed \(HTMLPage.escaped(run["seed"]?.asString ?? Number.text(run["seed"])))</pre>")
    page.note("As asked: \(run["command"]?.asString ?? "")")
    page.note(
      "Machine: \(machine["processor"]?.asString ?? ""), \(Number.text(machine["cores"])) cores, \(Number.text(machine["memory_bytes"])) bytes of memory, "
        + "\(machine["system"]?.asString ?? "") \(machine["kernel"]?.asString ?? "").")
    for problem in charts.problems { page.note("Not shown: \(problem)") }
    if let scenario = summary.tree["scenario"], !scenario.isNull {
      page.raw("<details><summary>The scenario as used, every default filled in</summary><pre>\(HTMLPage.escaped(scenario.text(pretty: true)))</pre></details>")
    }
  }
}
