#!/usr/bin/env python3
"""The dashboard and the metrics of a run, read by real clients while it goes on.

- /metrics is read by PyPI's prometheus-client, and its counters agree with the run's own summary;
- /events is read as SSE, and ends with the run;
- the page is opened in headless Chromium where there is one: no console message, figures in the page, a hostile name as
  text. A screenshot is left under .build/interop/live.

Needs: SSEBENCH (default .build/release/ssebench), prometheus-client; Chromium on the PATH for the page.
"""

import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

PROGRAM = os.environ.get("SSEBENCH", ".build/release/ssebench")
HOSTILE = '<img src=x onerror=alert(1)> "\\ $X & </script>'


def get(url, timeout=10):
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return answer.headers.get("Content-Type"), answer.read().decode()


def scenario(seconds):
    return {
        "name": HOSTILE,
        "endpoint": {"mock": {"tokens": 20, "first_token": "50ms", "interval": "20ms"}},
        "load": {"model": "closed", "concurrency": 20, "duration": f"{seconds}s"},
    }


def start(folder, seconds, *flags):
    path = os.path.join(folder, "live.json")
    with open(path, "w") as file:
        json.dump(scenario(seconds), file)
    out = os.path.join(folder, "run")
    process = subprocess.Popen(
        [PROGRAM, "run", path, "--out", out, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    addresses = {}
    while len(addresses) < len([f for f in flags if f.startswith("--")]):
        line = process.stderr.readline()
        if not line:
            break
        print(f"run: {line.rstrip()}")
        found = re.match(r"(dashboard|metrics): (http://\S+)", line)
        if found:
            addresses[found.group(1)] = found.group(2)
    return process, addresses, out


def check_metrics(text, problems):
    from prometheus_client.parser import text_string_to_metric_families

    families = {family.name: family for family in text_string_to_metric_families(text)}
    for name in ["ssebench_sessions_live", "ssebench_sessions_started", "ssebench_events", "ssebench_ttft_seconds",
                 "gen_ai_client_operation_time_to_first_chunk_seconds", "gen_ai_client_operation_duration_seconds"]:
        if name not in families:
            problems.append(f"/metrics has no {name}")
    ttft = families.get("ssebench_ttft_seconds")
    if ttft:
        buckets = [s.value for s in ttft.samples if s.name.endswith("_bucket")]
        if buckets != sorted(buckets):
            problems.append("the buckets of ssebench_ttft_seconds do not grow")
        count = next(s.value for s in ttft.samples if s.name.endswith("_count"))
        if buckets[-1] != count:
            problems.append("the +Inf bucket is not the count")
        if ttft.samples[0].labels["run"] != HOSTILE:
            problems.append(f"the run's name came back as {ttft.samples[0].labels['run']!r}")
    return families


class SlowGate:
    """The dashboard through a proxy that holds the page's load event back for some seconds, by a slow picture."""

    def __init__(self, address, seconds=5):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if self.path not in ("/", "/events"):
                    if self.path == "/slow.png":
                        time.sleep(seconds)
                    self.send_error(404)
                    return
                with urllib.request.urlopen(address + self.path.lstrip("/"), timeout=60) as answer:
                    self.send_response(200)
                    self.send_header("Content-Type", answer.headers["Content-Type"])
                    self.end_headers()
                    if self.path == "/":
                        page = answer.read().decode().replace("</body>", '<img src="/slow.png" alt="" hidden></body>')
                        self.wfile.write(page.encode())
                        return
                    while True:
                        line = answer.readline()
                        if not line:
                            return
                        try:
                            self.wfile.write(line)
                        except OSError:
                            return

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self):
        self.server.shutdown()


def check_page(address, folder, problems):
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if not browser:
        print("live: no chromium; the page was not opened")
        return
    shots = os.path.join(".build", "interop", "live")
    os.makedirs(shots, exist_ok=True)
    shot = os.path.join(shots, "dashboard.png")
    common = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
              f"--user-data-dir={folder}/profile", "--timeout=30000"]
    # As it is, with its own policy: nothing to complain about.
    plain = subprocess.run([*common, "--dump-dom", address], capture_output=True, text=True, timeout=120)
    problems += [line for line in plain.stderr.splitlines() if "CONSOLE" in line]
    # Headless Chromium looks when the page is loaded; behind the slow gate that is after some seconds of figures.
    gate = SlowGate(address)
    done = subprocess.run([*common, "--dump-dom", gate.address], capture_output=True, text=True, timeout=120)
    problems += [line for line in done.stderr.splitlines() if "CONSOLE" in line and "slow.png" not in line]
    page = done.stdout
    if "<img src=x" in page:
        problems.append("the hostile name became markup")
    if "&lt;img src=x onerror=alert(1)&gt;" not in page:
        problems.append("the run's name is not on the page")
    if "events/s" not in page or "<dd>" not in page or "running" not in page:
        problems.append("the page shows no figures")
    subprocess.run(
        [*common, f"--screenshot={os.path.abspath(shot)}", "--window-size=1100,1400", gate.address], capture_output=True,
        timeout=120)
    gate.end()
    print(f"live: screenshot {shot if os.path.exists(shot) else 'could not be made'}")


def main():
    try:
        import prometheus_client  # noqa: F401
    except ImportError:
        print("live: prometheus-client is not installed")
        return 77
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        process, addresses, out = start(folder, 600, "--dashboard", "0", "--metrics", "0")
        try:
            if set(addresses) != {"dashboard", "metrics"}:
                raise RuntimeError(f"addresses said: {addresses}")
            stream = urllib.request.urlopen(addresses["dashboard"] + "events", timeout=60)
            events = []
            deadline = time.monotonic() + 20
            while len(events) < 3 and time.monotonic() < deadline:
                line = stream.readline().decode()
                if line.startswith("data: {") and '"t_s"' in line:
                    events.append(json.loads(line[6:]))
            if len(events) < 3:
                problems.append("no snapshots came")
            elif not all(a["t_s"] < b["t_s"] for a, b in zip(events, events[1:])):
                problems.append("snapshots are out of order")
            kind, text = get(addresses["metrics"])
            if not kind.startswith("text/plain; version=0.0.4"):
                problems.append(f"/metrics has the type {kind}")
            families = check_metrics(text, problems)
            started = sum(s.value for s in families["ssebench_sessions_started"].samples if s.name.endswith("_total"))
            check_page(addresses["dashboard"], folder, problems)
            taken = subprocess.run(
                [PROGRAM, "run", os.path.join(folder, "live.json"), "--out", out + "2", "--dashboard",
                 addresses["dashboard"].rsplit(":", 1)[1].strip("/")], capture_output=True, text=True, timeout=30)
            if taken.returncode != 73 or os.path.exists(out + "2"):
                problems.append(f"a port that is taken ended with {taken.returncode}: {taken.stderr.strip()}")
            try:
                get(addresses["dashboard"] + "nothing")
                problems.append("an unknown path was answered")
            except urllib.error.HTTPError as error:
                if error.code != 404:
                    problems.append(f"an unknown path was answered {error.code}")
            process.send_signal(signal.SIGINT)
            if "event: end" not in stream.read().decode():
                problems.append("the stream did not say that the run is over")
            process.wait(timeout=60)
        finally:
            if process.poll() is None:
                process.kill()
        if process.returncode != 130:
            problems.append(f"the run ended with {process.returncode}")
        summary = json.load(open(os.path.join(out, "summary.json")))
        total = summary["variants"][0]["sessions"]["started"]
        if not 0 < started <= total:
            problems.append(f"{started} sessions started by /metrics, {total} by the summary")
    for problem in problems:
        print(problem)
    print(f"live: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
