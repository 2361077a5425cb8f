# Locust knows no event streams: this user reads one line by line and keeps every gap. SSE_REQUESTS streams in all, then
# one JSON line on stdout. `iter_lines()` is not used: it waits for 1,024 bytes, which falsifies TTFT and gaps.
import json
import os
import signal
import time

import gevent
from locust import FastHttpUser, constant, events, task

REQUESTS = int(os.environ["SSE_REQUESTS"])
BODY = json.dumps({"model": "mock-1", "stream": True, "messages": [{"role": "user", "content": "hello"}]})
count = {"left": REQUESTS, "completed": 0, "failed": 0}
ttft, gaps = [], []


class Reader(FastHttpUser):
    wait_time = constant(0)
    network_timeout = connection_timeout = 600
    concurrency = 1

    @task
    def stream(self):
        if count["left"] <= 0:
            gevent.sleep(0.2)
            return
        count["left"] -= 1
        begun, last = time.perf_counter(), None
        try:
            with self.client.post("/v1/chat/completions", data=BODY, headers={"Content-Type": "application/json"}, stream=True,
                                  catch_response=True, name="stream") as response:
                while line := bytes(response._response.readline(b"\n")):
                    if not line.startswith(b"data: ") or line.startswith(b"data: ["):
                        continue
                    event = json.loads(line[6:])
                    if event["choices"] and event["choices"][0]["delta"].get("content"):
                        now = time.perf_counter()
                        if last is None:
                            ttft.append((now - begun) * 1e3)
                        else:
                            gaps.append((now - last) * 1e3)
                        last = now
                if last is None:
                    raise ValueError("no token")
                response.success()
            count["completed"] += 1
        except Exception:
            count["failed"] += 1
        if count["completed"] + count["failed"] >= REQUESTS:
            os.kill(os.getpid(), signal.SIGTERM)
            gevent.sleep(600)


def percentiles(values):
    values.sort()
    return {name: values[round(q * (len(values) - 1))] for name, q in (("p50", .5), ("p90", .9), ("p99", .99))} if values else None


@events.quitting.add_listener
def report(environment, **_):
    print(json.dumps({"completed": count["completed"], "failed": count["failed"], "ttft_ms": percentiles(ttft),
                      "itl_ms": percentiles(gaps)}), flush=True)
