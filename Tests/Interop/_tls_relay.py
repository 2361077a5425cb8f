#!/usr/bin/env python3
"""A TLS server that passes bytes on to a plain one: python3 _tls_relay.py CERT KEY PORT [LISTEN_PORT]

CERT and KEY are PEM files, PORT is the plain server's on 127.0.0.1. Prints the port it listens on, and ends when its
standard input does. With PORT 0 it accepts and never answers, not even the handshake.
"""

import asyncio
import ssl
import sys


async def copy(reader, writer):
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except (OSError, ssl.SSLError):
        pass
    finally:
        writer.close()


async def main():
    certificate, key, target = sys.argv[1], sys.argv[2], int(sys.argv[3])
    listen = int(sys.argv[4]) if len(sys.argv) > 4 else 0

    async def relay(reader, writer):
        if target == 0:
            await reader.read(-1)
            return
        try:
            plain_reader, plain_writer = await asyncio.open_connection("127.0.0.1", target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(copy(reader, plain_writer), copy(plain_reader, writer))

    context = None
    if target != 0:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate, key)
    server = await asyncio.start_server(relay, "127.0.0.1", listen, ssl=context, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


try:
    asyncio.run(main())
except KeyboardInterrupt:
    pass
