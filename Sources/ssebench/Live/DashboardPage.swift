// The dashboard: one page, no network but its own stream. Every text of the run comes in as JSON and is put in as text,
// never as markup.

enum DashboardPage {
  static let html = #"""
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>ssebench</title>
    <style>
    :root { color-scheme: light dark; --ink: #1b1f24; --soft: #5a6472; --line: #d5dae1; --paper: #ffffff; --card: #f5f7f9; --a: #0b62c4; --b: #b34700; --bad: #b3261e; }
    @media (prefers-color-scheme: dark) { :root { --ink: #e8ebef; --soft: #9aa5b1; --line: #343b44; --paper: #14181d; --card: #1d232a; --a: #6cb0ff; --b: #ffa45c; --bad: #ff8a80; } }
    * { box-sizing: border-box; }
    body { margin: 0 auto; max-width: 72rem; padding: 1.2rem; background: var(--paper); color: var(--ink); font: 16px/1.4 system-ui, sans-serif; }
    h1 { font-size: 1.3rem; margin: 0 0 .2rem; overflow-wrap: anywhere; }
    #state { color: var(--soft); margin: 0 0 1rem; }
    #cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .6rem; padding: 0; margin: 0 0 1rem; }
    #cards div { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .6rem .8rem; }
    dt { color: var(--soft); font-size: .8rem; }
    dd { margin: 0; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
    figure { margin: 0 0 1rem; }
    figcaption { font-size: .85rem; color: var(--soft); }
    svg { width: 100%; height: 9rem; background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
    svg path { fill: none; stroke-width: 1.5; vector-effect: non-scaling-stroke; }
    svg path.a { stroke: var(--a); } svg path.b { stroke: var(--b); stroke-dasharray: 5 3; }
    table { border-collapse: collapse; } td, th { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line); }
    td.n { text-align: right; font-variant-numeric: tabular-nums; } .bad { color: var(--bad); }
    </style>
    </head>
    <body>
    <h1 id="name">ssebench</h1>
    <p id="state" role="status">connecting</p>
    <dl id="cards"></dl>
    <figure><figcaption>Events a second</figcaption><svg id="events" viewBox="0 0 600 100" preserveAspectRatio="none" role="img" aria-label="Events a second over time"></svg></figure>
    <figure><figcaption>Live sessions</figcaption><svg id="live" viewBox="0 0 600 100" preserveAspectRatio="none" role="img" aria-label="Live sessions over time"></svg></figure>
    <figure><figcaption>TTFT in each second, ms: p50 (solid), p99 (dashed)</figcaption><svg id="ttft" viewBox="0 0 600 100" preserveAspectRatio="none" role="img" aria-label="TTFT quantiles over time"></svg></figure>
    <figure><figcaption>Gap between tokens in each second, ms: p50 (solid), p99 (dashed)</figcaption><svg id="itl" viewBox="0 0 600 100" preserveAspectRatio="none" role="img" aria-label="Token gap quantiles over time"></svg></figure>
    <figure><figcaption>CPU of the client, cores</figcaption><svg id="cpu" viewBox="0 0 600 100" preserveAspectRatio="none" role="img" aria-label="CPU over time"></svg></figure>
    <h2 id="errors-title" hidden>Failed sessions</h2>
    <table id="errors" hidden><thead><tr><th>kind</th><th>sessions</th></tr></thead><tbody></tbody></table>
    <noscript>This page needs its script; the figures are also in the report of the run.</noscript>
    <script>
    "use strict";
    const byId = id => document.getElementById(id);
    const rows = [];
    const number = (v, digits = 0) => v === null || v === undefined ? "–" : v.toLocaleString("en", {maximumFractionDigits: digits});
    const bytes = v => v === null || v === undefined ? "–" : v >= 1 << 30 ? number(v / (1 << 30), 1) + " GiB" : number(v / (1 << 20), 1) + " MiB";
    const card = (label, value, isBad) => {
      const box = document.createElement("div"), dt = document.createElement("dt"), dd = document.createElement("dd");
      dt.textContent = label; dd.textContent = value; if (isBad) dd.className = "bad";
      box.append(dt, dd); return box;
    };
    const draw = (id, series) => {
      const most = Math.max(1e-9, ...series.flat().filter(v => v !== null && v !== undefined));
      const svg = byId(id), width = 600 / Math.max(1, rows.length - 1);
      svg.replaceChildren(...series.map((values, place) => {
        let path = "", isOpen = false;
        values.forEach((v, i) => {
          if (v === null || v === undefined) { isOpen = false; return; }
          path += (isOpen ? "L" : "M") + (i * width).toFixed(1) + " " + (97 - 94 * v / most).toFixed(1); isOpen = true;
        });
        const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
        line.setAttribute("d", path); line.setAttribute("class", place ? "b" : "a"); return line;
      }));
      const caption = svg.parentNode.querySelector("figcaption");
      caption.dataset.base = caption.dataset.base || caption.textContent;
      caption.textContent = caption.dataset.base + " · most " + number(most, most < 10 ? 2 : 0);
    };
    const show = r => {
      byId("cards").replaceChildren(
        card("live", number(r.live)), card("started", number(r.started) + (r.planned ? " / " + number(r.planned) : "")),
        card("completed", number(r.completed)), card("failed", number(r.failed), r.failed > 0),
        card("events/s", number(r.events_per_s)), card("TTFT p50", number(r.ttft_ms.total_p50, 1) + " ms"),
        card("TTFT p99", number(r.ttft_ms.total_p99, 1) + " ms"), card("token gap p50", number(r.itl_ms.p50, 1) + " ms"),
        card("CPU", number(r.cpu_ratio, 2)), card("memory", bytes(r.resident_bytes)));
      const kinds = Object.entries(r.errors), hidden = kinds.length === 0;
      byId("errors").hidden = hidden; byId("errors-title").hidden = hidden;
      byId("errors").tBodies[0].replaceChildren(...kinds.map(([kind, count]) => {
        const row = document.createElement("tr"), a = row.insertCell(), b = row.insertCell();
        a.textContent = kind; b.textContent = number(count); b.className = "n"; return row;
      }));
      draw("events", [rows.map(r => r.events_per_s)]); draw("live", [rows.map(r => r.live)]);
      draw("ttft", [rows.map(r => r.ttft_ms.p50), rows.map(r => r.ttft_ms.p99)]);
      draw("itl", [rows.map(r => r.itl_ms.p50), rows.map(r => r.itl_ms.p99)]); draw("cpu", [rows.map(r => r.cpu_ratio)]);
    };
    const source = new EventSource("events");
    source.addEventListener("run", e => {
      rows.length = 0;
      const run = JSON.parse(e.data); byId("name").textContent = run.name; document.title = run.name + " · ssebench";
      byId("state").textContent = "starting";
    });
    source.addEventListener("end", e => { source.close(); byId("state").textContent = "over: " + JSON.parse(e.data).verdict; });
    source.onmessage = e => {
      const r = JSON.parse(e.data); rows.push(r); if (rows.length > 600) rows.shift();
      byId("state").textContent = "running · " + r.variant + " · " + number(r.t_s, 0) + " s"; show(r);
    };
    source.onerror = () => { if (source.readyState !== EventSource.CLOSED) byId("state").textContent = "the run does not answer; trying again"; };
    </script>
    </body>
    </html>
    """#
}
