#!/usr/bin/env python3
"""Opens a page in headless Chromium at three widths, light and dark, and leaves screenshots to be looked at.

Usage: page_check.py PAGE.html OUT_DIR [NAME]
Fails when the page logs anything to the console, asks for anything on the network, is wider than its window, or has labels of
a drawing on top of each other. Where summary.json lies beside it, the latencies in the page, read with its script taken
out, must be those of the summary.
Needs: chromium on the PATH.
"""

import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

WIDTHS = [(1280, 5200), (820, 5200), (390, 5200)]
SCHEMES = [("light", 1), ("dark", 0)]
COLUMNS = ["count", "mean", "stddev", "min", "p50", "p90", "p95", "p99", "p999", "max"]
PROBE = """
<script>
const over=document.documentElement.scrollWidth-innerWidth,pairs=[];
for(const svg of document.querySelectorAll('svg')){
  const boxes=[...svg.querySelectorAll('text')].map(t=>[t.textContent,t.getBoundingClientRect()]);
  boxes.forEach(([a,p],i)=>boxes.slice(i+1).forEach(([b,q])=>{
    const w=Math.min(p.right,q.right)-Math.max(p.left,q.left),h=Math.min(p.bottom,q.bottom)-Math.max(p.top,q.top);
    if(w>1&&h>3)pairs.push(a+' / '+b)}))}
document.title='PROBE '+JSON.stringify({over,pairs:pairs.slice(0,5)});
</script>
"""


def chromium(profile, *arguments):
    command = [
        shutil.which("chromium") or "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        f"--user-data-dir={profile}", "--enable-logging=stderr", "--v=0", *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=180)


class Tables(html.parser.HTMLParser):
    """The rows of each table, by the caption of its region."""

    def __init__(self):
        super().__init__()
        self.tables, self.caption, self.cell = {}, None, None

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "div" and attributes.get("role") == "region":
            self.caption = attributes.get("aria-label")
            self.tables[self.caption] = []
        if tag == "tr" and self.caption is not None:
            self.tables[self.caption].append([])
        if tag in ("td", "th") and self.caption is not None and self.tables[self.caption]:
            self.cell = ""

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data

    def handle_endtag(self, tag):
        if tag in ("td", "th") and self.cell is not None:
            self.tables[self.caption][-1].append(self.cell)
            self.cell = None
        if tag == "table":
            self.caption = None


def at(tree, path):
    for part in path.split("."):
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree


def compare(dom, summary, problems):
    """The figures of the page against those of the summary; how many were held against each other."""
    reader = Tables()
    reader.feed(dom)
    compared = 0
    for variant in summary["variants"]:
        caption = f"Latencies: {variant['name']}" if len(summary["variants"]) > 1 else "Latencies"
        rows = reader.tables.get(caption)
        if not rows:
            problems.append(f"the page has no table '{caption}'")
            continue
        for row in rows[1:]:
            figures = at(variant, row[0]) or {}
            for name, shown in zip(COLUMNS, row[1:]):
                value = figures.get(name)
                compared += 1
                if (value is None) != (shown == "–"):
                    problems.append(f"{caption}: {row[0]}.{name} is {shown} and {value}")
                elif value is not None and abs(float(shown) - value) > max(abs(value) * 6e-4, 6e-7):
                    problems.append(f"{caption}: {row[0]}.{name} is {shown} and {value}")
    if f"<h1>{html.escape(summary['run']['name'], quote=False)}</h1>" not in dom:
        problems.append("the page does not show the run's name")
    return compared


def main(page, out, name):
    os.makedirs(out, exist_ok=True)
    problems = []
    compared = 0
    text = open(page, encoding="utf-8").read()
    for link in re.findall(r'(?:src|href)="(?!#|data:)([^"]+)"', text):
        problems.append(f"the page refers to {link}")
    with tempfile.TemporaryDirectory() as profile:
        for width, height in WIDTHS:
            for scheme, setting in SCHEMES:
                shot = os.path.join(out, f"{name}-{width}-{scheme}.png")
                done = chromium(
                    profile, f"--screenshot={os.path.abspath(shot)}", f"--window-size={width},{height}",
                    f"--blink-settings=preferredColorScheme={setting}", f"file://{os.path.abspath(page)}")
                problems += [line for line in done.stderr.splitlines() if "CONSOLE" in line]
                if not os.path.exists(shot):
                    problems.append(f"{shot} was not made")
        probe = os.path.join(profile, "probe.html")
        with open(probe, "w", encoding="utf-8") as file:
            file.write(text.replace("</body>", PROBE + "</body>"))
        for width, height in WIDTHS:
            done = chromium(profile, "--dump-dom", f"--window-size={width},{height}", f"file://{probe}")
            found = re.search(r"<title>PROBE (.*?)</title>", done.stdout, re.S)
            if not found:
                problems.append(f"at {width} px the page could not be measured")
                continue
            seen = json.loads(html.unescape(found.group(1)))
            if seen["over"] > 0:
                problems.append(f"at {width} px the page is {seen['over']} px too wide")
            problems += [f"at {width} px labels lie on each other: {pair}" for pair in seen["pairs"]]
        summary = os.path.join(os.path.dirname(os.path.abspath(page)), "summary.json")
        if os.path.exists(summary) and os.path.basename(page) == "report.html":
            plain = os.path.join(profile, "plain.html")
            with open(plain, "w", encoding="utf-8") as file:
                file.write(re.sub(r"<script>.*?</script>", "", text, flags=re.S))
            done = chromium(profile, "--dump-dom", f"file://{plain}")
            with open(summary, encoding="utf-8") as file:
                compared = compare(done.stdout, json.load(file), problems)
    for problem in problems:
        print(problem)
    print(f"page_check: {name}: {len(WIDTHS) * len(SCHEMES)} screenshots in {out}, {compared} figures, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "page"))
