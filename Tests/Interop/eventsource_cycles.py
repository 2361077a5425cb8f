#!/usr/bin/env python3
"""A thousand streams are opened and given up: the server sees each close within 100 ms, and nothing piles up.

A server of our own sends an event each 20 ms and notes when the connection goes after the event at which the client gives
up. The client's descriptors, threads and memory are read while it runs.
"""

import asyncio
import json
import os
import subprocess
import threading
import time

from _paths import SSEBENCH, Run, Scene, skip

CYCLES = int(os.environ.get("CYCLES", "1000"))
LIVE = 5
AFTER = 3


class Server:
    """Plain SSE over HTTP/1.1; a thread with a loop of its own."""

    def __init__(self):
        self.opened = self.live = 0
        self.closes = []
        self.later = 0
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()

        async def begin():
            server = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=256)
            self.port = server.sockets[0].getsockname()[1]
            ready.set()

        def body():
            asyncio.set_event_loop(self.loop)
            self.loop.create_task(begin())
            self.loop.run_forever()

        threading.Thread(target=body, daemon=True).start()
        ready.wait(10)

    async def serve(self, reader, writer):
        self.opened += 1
        self.live += 1
        told = None
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            gone = asyncio.create_task(reader.read(1))
            for number in range(1, 3000):
                event = b"id: %d\ndata: {\"n\":%d}\n\n" % (number, number)
                writer.write(b"%x\r\n%s\r\n" % (len(event), event))
                if number == AFTER:
                    told = time.monotonic()
                elif number > AFTER:
                    self.later += 1
                done, _ = await asyncio.wait([gone], timeout=0.02)
                if done:
                    gone.exception()  # a reset is a close as well
                    break
            else:
                gone.cancel()
                return
            if told is not None:
                self.closes.append(time.monotonic() - told)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.live -= 1
            writer.close()


def watch(process, server, samples):
    """What the client holds, every 20 ms: (streams opened so far, streams live, descriptors, threads, resident kB)."""
    while process.poll() is None:
        try:
            descriptors = len(os.listdir(f"/proc/{process.pid}/fd"))
            threads = len(os.listdir(f"/proc/{process.pid}/task"))
            with open(f"/proc/{process.pid}/status") as status:
                resident = next((int(line.split()[1]) for line in status if line.startswith("VmRSS")), 0)
            if descriptors:
                samples.append((server.opened, server.live, descriptors, threads, resident))
        except (OSError, ValueError):
            return
        time.sleep(0.02)


def main():
    if not os.path.isdir("/proc/self/fd"):
        skip("this system has no /proc to read descriptors from")
    with Scene() as scene:
        for stack in ("eventsource", "bytes-lines", "urlsession", "curl", "raw"):
            server = Server()
            out = os.path.join(scene.folder, stack)
            path = scene.file(f"{stack}.json", json.dumps({
                "name": f"{stack}, given up", "endpoint": {"url": f"http://127.0.0.1:{server.port}/events", "api": "sse"},
                "load": {"sessions": CYCLES, "concurrency": LIVE},
                "client": {"stack": stack, "fidelity": "strict", "connections": "fresh",
                           "decoder": "none" if stack != "bytes-lines" else "foundation", "reconnect": {"policy": "none"},
                           "cancel": {"share": 1.0, "after": {"tokens": AFTER}}},
            }))
            with open(f"{scene.folder}/{stack}.log", "w") as log:
                process = subprocess.Popen([SSEBENCH, "run", path, "--out", out, "--quiet"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
                scene.processes.append(process)
                samples = []
                watcher = threading.Thread(target=watch, args=(process, server, samples))
                watcher.start()
                process.wait(timeout=280)
                watcher.join(10)
            if not os.path.exists(f"{out}/summary.json"):
                with open(f"{scene.folder}/{stack}.log") as log:
                    scene.expect(f"{stack}: runs", False, log.read())
                continue
            run = Run(stack, out, process.returncode)
            v = run.variant
            wait = v["instrument"]["run_queue_wait_ratio"] or 0
            closes = sorted(server.closes)
            print(f"{stack}: {v['sessions']['cancelled']} cancelled of {v['sessions']['started']}, {len(closes)} closes seen, "
                  f"p50 {closes[len(closes) // 2] * 1000:.1f} ms, p99 {closes[int(len(closes) * 0.99)] * 1000:.1f} ms, "
                  f"most {closes[-1] * 1000:.1f} ms; {server.later} events sent after; {v['tokens']['count']} tokens counted; "
                  f"waited for a core {wait:.2f}" if closes else f"{stack}: no close was seen")
            scene.expect(f"{stack}: all are cancelled, none fails", v["sessions"]["cancelled"] == CYCLES and not run.errors(),
                         (v["sessions"], run.errors(), v["error_samples"]))
            scene.expect(f"{stack}: the server saw every close", len(closes) == CYCLES == server.opened, (len(closes), server.opened))
            late = [one for one in closes if one > 0.1]
            # A machine that makes us wait for a core adds its waits to both sides of the measurement.
            allowed = 0 if wait < 0.1 else CYCLES // 10
            scene.expect(f"{stack}: within 100 ms ({len(late)} later, {allowed} allowed here)", len(late) <= allowed, late[-5:])
            rows = run.rows()
            extra = sum(int(row["tokens_after_cancel"] or 0) for row in rows)
            scene.expect(f"{stack}: no token is counted after", extra == 0 and v["tokens"]["count"] == CYCLES * AFTER, (extra, v["tokens"]))
            early = [s for s in samples if CYCLES * 0.1 <= s[0] <= CYCLES * 0.3]
            later = [s for s in samples if CYCLES * 0.8 <= s[0]]
            if early and later:
                after = [s for s in samples if s[0] >= CYCLES and s[1] == 0] or later[-1:]
                top = [max(s[i] for s in part) for part in (early, later) for i in (2, 3, 4)]
                print(f"  descriptors at most {top[0]}, then {top[3]}, at the end {after[-1][2]}; threads {top[1]}, then {top[4]}; "
                      f"resident {top[2]} kB, then {top[5]} kB")
                scene.expect(f"{stack}: descriptors do not pile up", top[3] <= top[0] + 2 * LIVE and after[-1][2] <= top[0] + LIVE, top)
                scene.expect(f"{stack}: threads do not pile up", top[4] <= top[1] + 2 * LIVE, top)
                scene.expect(f"{stack}: memory does not pile up", top[5] <= top[2] + 16 * 1024, top)
            else:
                scene.expect(f"{stack}: was watched", False, len(samples))
        scene.finish()


main()
