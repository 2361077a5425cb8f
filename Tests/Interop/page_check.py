#!/usr/bin/env python3
"""Opens a page in headless Chromium at three widths, light and dark, and leaves screenshots to be looked at.

Usage: page_check.py PAGE.html OUT_DIR [NAME]
Fails when the page logs anything to the console, asks for anything on the network, or is wider than its window.
Needs: chromium on the PATH.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

WIDTHS = [(1280, 5200), (820, 5200), (390, 5200)]
SCHEMES = [("light", 1), ("dark", 0)]


def chromium(profile, *arguments):
    command = [
        shutil.which("chromium") or "chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        f"--user-data-dir={profile}", "--enable-logging=stderr", "--v=0", *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=90)


def main(page, out, name):
    os.makedirs(out, exist_ok=True)
    problems = []
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
            file.write(text.replace("script-src 'unsafe-inline'", "script-src 'unsafe-inline'").replace(
                "</body>", "<script>document.title='WIDTH '+(document.documentElement.scrollWidth-innerWidth)</script></body>"))
        for width, height in WIDTHS:
            done = chromium(profile, "--dump-dom", f"--window-size={width},{height}", f"file://{probe}")
            over = re.search(r"<title>WIDTH (-?\d+)", done.stdout)
            if over and int(over.group(1)) > 0:
                problems.append(f"at {width} px the page is {over.group(1)} px too wide")
    for problem in problems:
        print(problem)
    print(f"page_check: {name}: {len(WIDTHS) * len(SCHEMES)} screenshots in {out}, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else "page"))
