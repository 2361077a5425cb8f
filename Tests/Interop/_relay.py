# A relay between a client and a server that delays, throttles, stalls and cuts. Not a test itself.

import asyncio
import contextlib
import socket
import struct
import threading


class Relay:
    """Listens on a free port and passes on to the mock; a thread with a loop of its own, until `close`."""

    def __init__(self, target, delay=0.0, rate=None, cut=None, reset=False, stall=None, first=0.0):
        self.target, self.delay, self.rate, self.cut, self.reset, self.stall, self.first = target, delay, rate, cut, reset, stall, first
        self.connections = self.cuts = 0
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()

        async def serve():
            self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
            self.port = self.server.sockets[0].getsockname()[1]
            ready.set()

        def body():
            asyncio.set_event_loop(self.loop)
            self.loop.run_until_complete(serve())
            self.loop.run_forever()

        self.thread = threading.Thread(target=body, daemon=True)
        self.thread.start()
        ready.wait(10)

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)

    async def serve(self, reader, writer):
        self.connections += 1
        number = self.connections
        up_writer = None
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", self.target)
            for one in (writer, up_writer):
                one.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            tasks = [asyncio.create_task(self.pump(reader, up_writer, self.first, None, None)),
                     asyncio.create_task(self.pump(up_reader, writer, 0, self.rate, number))]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED, timeout=120)
            for task in tasks:
                task.cancel()
        except OSError:
            pass
        finally:
            for one in (writer, up_writer):
                if one:
                    with contextlib.suppress(Exception):
                        one.close()

    async def pump(self, reader, writer, first, rate, number):
        """What is read is written `delay` later, however late the one before it was; so a delay is no throttle."""
        queue = asyncio.Queue()
        loop = asyncio.get_running_loop()

        async def read():
            late = first
            while True:
                data = await reader.read(65536)
                await queue.put((loop.time() + self.delay + late, data))
                late = 0
                if not data:
                    return

        reading = asyncio.create_task(read())
        passed = stalled = 0
        try:
            while True:
                due, data = await queue.get()
                await asyncio.sleep(max(0, due - loop.time()))
                if not data:
                    return
                piece = max(1, int(rate * 0.01)) if rate else len(data)
                for start in range(0, len(data), piece):
                    part = data[start:start + piece]
                    # Only the first connections are cut: `cut` is (after how many bytes, how many connections).
                    if number and self.cut and number <= self.cut[1] and passed + len(part) >= self.cut[0]:
                        writer.write(part[:self.cut[0] - passed])
                        await writer.drain()
                        self.cuts += 1
                        if self.reset:
                            await asyncio.sleep(0.05)
                            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                            writer.transport.abort()
                        return
                    if number and self.stall and passed >= self.stall[0] * (stalled + 1):
                        stalled += 1
                        await asyncio.sleep(self.stall[1])
                    writer.write(part)
                    passed += len(part)
                    await writer.drain()
                    if rate:
                        await asyncio.sleep(len(part) / rate)
        finally:
            reading.cancel()


@contextlib.contextmanager
def relay(*arguments, **more):
    one = Relay(*arguments, **more)
    try:
        yield one
    finally:
        one.close()
