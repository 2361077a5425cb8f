# The clients that stand side by side: how each is installed, started for a piece of work, and what it reported. In: a
# Work. Out: a command, and its report in one set of words. It measures nothing itself.

import dataclasses
import glob
import json
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))

# Local tokenizers, no hub; nothing that phones home.
ENVIRONMENT = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false",
               "NO_PROXY": "127.0.0.1", "DO_NOT_TRACK": "1"}
BODY = '{"model":"mock-1","stream":true,"messages":[{"role":"user","content":"hello"}]}'


@dataclasses.dataclass
class Work:
    """So many requests, so many of them live; each answer has so many tokens at one pace. An interval of 0 is unpaced."""

    live: int
    requests: int
    tokens: int
    first_ms: float
    interval_ms: float
    # Only ssebench can spread its starts; the others begin all at once.
    ramp_s: float = 0

    @property
    def stream_s(self):
        return (self.first_ms + self.interval_ms * (self.tokens - 1)) / 1000


@dataclasses.dataclass
class Place:
    """Where a client runs: the server, a folder of the run's own, and what is installed."""

    base: str
    folder: str
    installed: str
    ssebench: str

    @property
    def url(self):
        return self.base + "/v1/chat/completions"

    @property
    def host(self):
        return self.base.removeprefix("http://").split(":")

    @property
    def tokenizer(self):
        return os.path.join(self.installed, "tokenizer")

    def file(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "w") as file:
                file.write(text)
        return path


def three(p50, p90, p99, scale=1.0):
    return {"p50": None if p50 is None else p50 * scale, "p90": None if p90 is None else p90 * scale,
            "p99": None if p99 is None else p99 * scale}


def load(path):
    with open(path) as file:
        return json.load(file)


class Peer:
    """One client. `requirements` are pip's words for its environment of its own, empty for a program."""

    name = title = package = ""
    requirements = ()
    python = "python3"
    keeps_hub_offline = True
    # What its figures are, where that is not TTFT from before connecting and the gaps of single tokens.
    note = ""

    def interpreter(self, installed):
        return os.path.join(installed, self.name.split(".")[0], "bin", "python")

    def script(self, place, name):
        return os.path.join(os.path.dirname(self.interpreter(place.installed)), name)

    def missing(self, installed, ssebench):
        """Why it cannot run, or None."""
        python = self.interpreter(installed)
        if not os.path.exists(python):
            return "not installed"
        return None if self.version(installed, ssebench) else f"{self.package} is not in its environment"

    def version(self, installed, ssebench):
        code = f"import importlib.metadata as m; print(m.version({self.package!r}))"
        answer = subprocess.run([self.interpreter(installed), "-c", code], capture_output=True, text=True, timeout=60)
        return answer.stdout.strip() if answer.returncode == 0 else None

    def environment(self, work):
        return {}

    def command(self, work, place):
        raise NotImplementedError

    def report(self, place, output):
        """completed, failed, ttft_ms, itl_ms (each p50, p90, p99) as the client says them; what it does not say is absent."""
        raise NotImplementedError


class Truth(Peer):
    name, title, package = "truth", "minimal C client", "truthclient.c"

    def missing(self, installed, ssebench):
        return None

    def version(self, installed, ssebench):
        return "as in this folder"

    def command(self, work, place):
        return [os.path.join(place.installed, "bin", "truthclient"), *place.host, str(work.live), str(work.requests)]

    def report(self, place, output):
        figures = json.loads(output.strip().splitlines()[-1])
        return {"completed": figures["completed"], "failed": figures["failed"], "ttft_sent_ms": figures["ttft_ms"],
                "ttft_ms": figures["ttft_connecting_ms"], "itl_ms": figures["itl_ms"],
                "events_per_read": figures["events"] / max(figures["reads"], 1), "truth": figures}


class Ssebench(Peer):
    package = "ssebench"

    def __init__(self, stack):
        self.stack = stack
        self.name = f"ssebench-{stack}"
        self.title = f"ssebench, stack `{stack}`"

    def missing(self, installed, ssebench):
        return None if os.access(ssebench, os.X_OK) else "not built"

    def version(self, installed, ssebench):
        return subprocess.run([ssebench, "--version"], capture_output=True, text=True, timeout=20).stdout.strip().removeprefix("ssebench ")

    def command(self, work, place):
        settings = [f"load.concurrency={work.live}", f"load.sessions={work.requests}", f"load.ramp_up={work.ramp_s:g}s",
                    f"client.stack={self.stack}", f"request.max_tokens={work.tokens}"]
        flags = [word for setting in settings for word in ("--set", setting)]
        # The scenario's own settings but for the server, which is the reference server for every client here.
        return [place.ssebench, "run", os.path.join(HERE, "..", "1000.json"), "--endpoint", place.url, "--out", place.file("run"),
                "--quiet", *flags]

    def report(self, place, output):
        summary = load(place.file("run/summary.json"))
        variant = summary["variants"][0]
        return {"completed": variant["sessions"]["completed"], "failed": variant["sessions"]["failed"],
                "ttft_sent_ms": variant["ttft_ms"], "ttft_ms": variant["from_scheduled"]["ttft_ms"], "itl_ms": variant["itl_ms"],
                "events_per_read": variant["reads"]["events_per_read"], "verdict": summary["verdict"],
                "warnings": sorted({w["code"] for w in summary["warnings"]}),
                "own_cpu_s_per_million": variant["instrument"]["cpu_s_per_million_events"]}


class SGLang(Peer):
    package = "sglang"
    requirements = ("--no-deps", "sglang"), ("aiohttp", "msgspec", "numpy", "orjson", "requests", "tqdm", "transformers",
                                             "tokenizers", "pybase64", "pillow", "datasets", "psutil")

    def __init__(self, language, starter, extra):
        self.name, self.title = f"sglang-{language.lower()}", f"SGLang's {language} client"
        self.starter, self.extra = starter, extra

    def interpreter(self, installed):
        return os.path.join(installed, "sglang", "bin", "python")

    def command(self, work, place):
        return [self.interpreter(place.installed), os.path.join(HERE, self.starter), "--backend", "vllm-chat",
                "--base-url", place.base, "--dataset-name", "random-ids", "--model", "mock-1", "--tokenizer", place.tokenizer,
                "--random-input-len", "32", "--random-output-len", str(work.tokens), "--random-range-ratio", "1",
                "--num-prompts", str(work.requests), "--max-concurrency", str(work.live), "--disable-tqdm",
                "--warmup-requests", "0", *self.extra, "--output-file", place.file("report.jsonl")]

    def report(self, place, output):
        with open(place.file("report.jsonl")) as file:
            d = json.loads(file.read().strip().splitlines()[-1])
        return {"completed": d["completed"], "ttft_ms": three(d["median_ttft_ms"], d["p90_ttft_ms"], d["p99_ttft_ms"]),
                "itl_ms": three(d["median_itl_ms"], d["p90_itl_ms"], d["p99_itl_ms"])}


class GuideLLM(Peer):
    name = package = "guidellm"
    title, note = "GuideLLM", "ITL is each request's mean"
    requirements = (("guidellm",),)

    def command(self, work, place):
        return [self.script(place, "guidellm"), "run", "--backend", f"kind=openai_http,target={place.base},model=mock-1",
                "--profile", f"kind=concurrent,streams={work.live}", "--constraint", f"kind=max_requests,count={work.requests}",
                "--tokenizer", f"kind=huggingface_auto,model={place.tokenizer}",
                "--data", f"kind=synthetic_text,prompt_tokens=32,output_tokens={work.tokens}",
                "--output", f"kind=json,path={place.file('report.json')}", "--output", "kind=console", "--disable-progress"]

    def report(self, place, output):
        metrics = load(place.file("report.json"))["benchmarks"][0]["metrics"]
        totals = metrics["request_totals"]

        def figures(key):
            q = metrics[key]["successful"]["percentiles"]
            return three(q["p50"], q["p90"], q["p99"])

        return {"completed": totals["successful"], "failed": totals["errored"] + totals["incomplete"],
                "ttft_ms": figures("time_to_first_token_ms"), "itl_ms": figures("inter_token_latency_ms")}


class AIPerf(Peer):
    name = package = "aiperf"
    title = "AIPerf"
    requirements = (("aiperf",),)
    # With the hub offline it takes the tokenizer's folder for a name on the hub.
    keeps_hub_offline = False

    def command(self, work, place):
        return [self.script(place, "aiperf"), "profile", "-m", "mock-1", "--tokenizer", place.tokenizer, "--endpoint-type", "chat",
                "--streaming", "--url", place.base, "--concurrency", str(work.live), "--request-count", str(work.requests),
                "--isl", "32", "--osl", str(work.tokens), "--num-dataset-entries", "100", "--use-server-token-count",
                "--no-gpu-telemetry", "--no-server-metrics", "--ui", "none", "--artifact-dir", place.folder]

    def report(self, place, output):
        d = load(place.file("profile_export_aiperf.json"))

        def figures(key):
            return three(d[key]["p50"], d[key]["p90"], d[key]["p99"]) if key in d else None

        return {"completed": round(d["request_count"]["avg"]), "failed": round((d.get("error_request_count") or {}).get("avg", 0)),
                "ttft_ms": figures("time_to_first_token"), "itl_ms": figures("inter_chunk_latency")}


class InferencePerf(Peer):
    name = package = "inference-perf"
    title = "inference-perf"
    requirements = (("inference-perf",),)
    python = "python3.12"

    def command(self, work, place):
        settings = {
            "api": {"type": "chat", "streaming": True}, "data": {"type": "mock"},
            "load": {"type": "concurrent", "num_workers": 1 if work.live < 2 else 2, "worker_max_concurrency": work.live,
                     "stages": [{"num_requests": work.requests, "concurrency_level": work.live}]},
            "server": {"type": "vllm", "model_name": "mock-1", "base_url": place.base, "ignore_eos": True},
            "tokenizer": {"pretrained_model_name_or_path": place.tokenizer},
            "storage": {"local_storage": {"path": place.file("report")}},
            "report": {"request_lifecycle": {"summary": True, "per_stage": False, "per_request": False}}}
        # JSON is YAML.
        return [self.script(place, "inference-perf"), "-c", place.file("settings.yaml", json.dumps(settings))]

    def report(self, place, output):
        d = load(glob.glob(place.file("report") + "/**/summary_lifecycle_metrics.json", recursive=True)[0])
        latency = d["successes"]["latency"]

        def figures(key):
            q = latency.get(key) or {}
            return three(q.get("median"), q.get("p90"), q.get("p99"), 1000) if q else None

        return {"completed": d["successes"]["count"], "failed": d["failures"]["count"],
                "ttft_ms": figures("time_to_first_token"), "itl_ms": figures("inter_token_latency")}


class Locust(Peer):
    name = package = "locust"
    title, note = "Locust", "with a user that reads line by line"
    requirements = (("locust",),)

    def environment(self, work):
        return {"SSE_REQUESTS": str(work.requests)}

    def command(self, work, place):
        return [self.script(place, "locust"), "-f", os.path.join(HERE, "locustfile.py"), "--headless", "-u", str(work.live),
                "-r", str(work.live), "--host", place.base, "--only-summary"]

    def report(self, place, output):
        return json.loads([line for line in output.splitlines() if line.startswith('{"completed"')][-1])


class Program(Peer):
    """A program of Debian's, which knows no events."""

    def missing(self, installed, ssebench):
        return None if shutil.which(self.name) else f"not installed (Debian: {self.package})"

    def version(self, installed, ssebench):
        answer = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", self.package], capture_output=True, text=True, timeout=20)
        return answer.stdout.strip() or "?"


class Wrk(Program):
    name = package = title = "wrk"
    note = "no events, no TTFT; runs for a time, so some streams are cut at its end"
    unpaced_s = 6

    def command(self, work, place):
        script = place.file("post.lua", f"wrk.method = 'POST'; wrk.body = [[{BODY}]]; wrk.headers['Content-Type'] = 'application/json'\n")
        seconds = int(work.stream_s + 1.5) if work.interval_ms else self.unpaced_s
        return ["wrk", "-t1", f"-c{work.live}", f"-d{seconds}s", "--timeout", "120s", "-s", script, place.url]

    def report(self, place, output):
        errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
        return {"completed": int(re.search(r"(\d+) requests in", output).group(1)),
                "failed": sum(map(int, errors.groups())) if errors else 0}


class H2load(Program):
    name, title, package = "h2load", "h2load (HTTP/1.1)", "nghttp2-client"
    note = "no events, no TTFT"

    def command(self, work, place):
        return ["h2load", "--h1", "-t1", f"-c{work.live}", f"-n{work.requests}", "-d", place.file("body.json", BODY),
                "-H", "content-type: application/json", place.url]

    def report(self, place, output):
        completed, failed = re.search(r"(\d+) succeeded, (\d+) failed", output).groups()
        return {"completed": int(completed), "failed": int(failed)}


PEERS = {peer.name: peer for peer in (
    Truth(), Ssebench("raw"), Ssebench("curl"),
    SGLang("Rust", "sglang_rust.py", ("--disable-retokenize",)), SGLang("Python", "sglang_python.py", ()),
    GuideLLM(), AIPerf(), InferencePerf(), Locust(), Wrk(), H2load())}
