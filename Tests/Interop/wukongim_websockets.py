#!/usr/bin/env python3
"""WuKongIM against PyPI's `websockets`, in both roles: as client of our mock and as server for our client.

Needs the package `websockets` and the program WuKongDriver (built here if it is not there, or named by the environment
variable WUKONG_DRIVER). Exit 0: all held; 77: skipped, since one of both is missing.
"""

import asyncio
import base64
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

try:
    from websockets.asyncio.client import connect
    from websockets.asyncio.server import serve
    from websockets.exceptions import ConnectionClosed
except ImportError:
    print("skipped: the Python package 'websockets' is not installed")
    sys.exit(77)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DRIVER = os.environ.get("WUKONG_DRIVER", os.path.join(ROOT, ".build", "release", "WuKongDriver"))
if not os.path.exists(DRIVER):
    subprocess.run(["swift", "build", "-c", "release", "--product", "WuKongDriver"], cwd=ROOT, timeout=850, check=False)
if not os.path.exists(DRIVER):
    print(f"skipped: {DRIVER} is not built")
    sys.exit(77)

failures = []


def check(what, holds, detail=""):
    print(f"{'ok  ' if holds else 'FAIL'} {what}{'' if holds else ' – ' + str(detail)}")
    if not holds:
        failures.append(what)


class Mock:
    """Our mock as a process; HTTP by urllib, WebSocket by websockets."""

    def __init__(self, *faults):
        self.process = subprocess.Popen([DRIVER, "serve", *faults], stdout=subprocess.PIPE, text=True)
        line = json.loads(self.process.stdout.readline())
        self.http, self.ws = line["listening"], line["ws"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(5)

    def post(self, path, body):
        request = urllib.request.Request(self.http + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=5) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def room(self):
        for uid, token in (("reader-7", "tk"), ("author-42", "ta")):
            self.post("/user/token", {"uid": uid, "token": token, "device_flag": 0, "device_level": 1})
        self.post("/channel", {"channel_id": "room-42", "channel_type": 2, "reset": 1, "subscribers": ["reader-7", "author-42"]})

    def event(self, number, kind, payload):
        return self.post("/message/event", {
            "channel_id": "room-42", "channel_type": 2, "from_uid": "author-42", "client_msg_no": "reply-42",
            "event_id": f"reply-42:{number}", "event_type": f"stream.{kind}", "payload": payload})


CONNECT = {"jsonrpc": "2.0", "id": "c1", "method": "connect",
           "params": {"uid": "reader-7", "token": "tk", "deviceId": "py", "deviceFlag": 0, "clientTimestamp": 1790000000000}}


async def receive(ws):
    return json.loads(await asyncio.wait_for(ws.recv(), 5))


async def closed(ws):
    """The close code that the server gives, whatever it sends before."""
    try:
        while True:
            await asyncio.wait_for(ws.recv(), 5)
    except ConnectionClosed:
        return ws.close_code


async def client_of_our_mock():
    with Mock() as mock:
        mock.room()
        with urllib.request.urlopen(mock.http + "/route?uid=reader-7&intranet=0") as response:
            check("route names the WebSocket", json.load(response)["ws_addr"] == mock.ws)
        async with connect(mock.ws, compression=None, ping_interval=None) as ws:
            await ws.send(json.dumps(CONNECT))
            result = await receive(ws)
            check("connect succeeds with reasonCode 1", result["id"] == "c1" and result["result"]["reasonCode"] == 1, result)
            # A fragmented request, with a ping between the fragments; and one in a binary frame, as iOS sends it.
            text = json.dumps({"jsonrpc": "2.0", "id": "p1", "method": "ping", "params": {"text": "你好🙂"}}, ensure_ascii=False)

            async def pieces():
                for index, character in enumerate(text):
                    if index == 10:
                        waiter = await ws.ping(b"between")
                        pongs.append(waiter)
                    yield character

            pongs = []
            await ws.send(pieces())
            check("a request in fragments is answered", (await receive(ws)) == {"jsonrpc": "2.0", "id": "p1", "result": None})
            await asyncio.wait_for(pongs[0], 5)
            check("a ping between fragments is answered", True)
            await ws.send(json.dumps({"id": "p2", "method": "ping"}).encode())
            check("a binary frame is accepted", (await receive(ws))["id"] == "p2")
            begin = time.monotonic()
            await asyncio.wait_for(await ws.ping(b"x" * 125), 5)
            check("a ping is answered within 100 ms", time.monotonic() - begin < 0.1, time.monotonic() - begin)

            status, sent = mock.post("/message/send", {
                "from_uid": "author-42", "channel_id": "room-42", "channel_type": 2, "client_msg_no": "reply-42", "setting": 2,
                "payload": base64.b64encode(b'{"type":1,"content":""}').decode()})
            check("send answers", status == 200 and sent["reason"] == 1, sent)
            recv = (await receive(ws))["params"]
            check("recv carries a string id and a number as sequence",
                  recv["messageId"] == str(sent["message_id"]) and recv["messageSeq"] == sent["message_seq"] and "header" in recv, recv)
            await ws.send(json.dumps({"jsonrpc": "2.0", "method": "recvack", "params": {
                "header": {}, "messageId": recv["messageId"], "messageSeq": recv["messageSeq"]}}))
            mock.event(1, "open", {})
            await receive(ws)
            text = ""
            for number, delta in enumerate(["你", "好🙂", "e\u0301", "👩‍👩‍👧‍👦", " end"], 2):
                mock.event(number, "delta", {"kind": "text", "delta": delta})
                params = (await receive(ws))["params"]
                data = json.loads(params["data"])
                if data["text_offset"] != len(text.encode()) or data["message_seq"] != str(sent["message_seq"]):
                    check("offsets are bytes", False, data)
                text += data["payload"]["delta"]
            check("five deltas arrive with byte offsets", text == "你好🙂e\u0301👩‍👩‍👧‍👦 end", text)
            status, body = mock.event(9, "finish", {"snapshot": {"kind": "text", "text": text}})
            check("finish is durable", body["data"]["msg_event_seq"] == 2 and body["data"]["event_key"] == "__finish__", body)
            check("finish arrives", (await receive(ws))["params"]["type"] == "stream.finish")
            status, page = mock.post("/channel/messagesync", {
                "login_uid": "reader-7", "channel_id": "room-42", "channel_type": 2, "limit": 40, "event_summary_mode": "full"})
            lane = page["messages"][0]["event_meta"]["events"][0]
            check("the history has the text", lane["snapshot"]["text"] == text and lane["status"] == "closed", lane)
            await ws.close(4001, "bye")
            check("our close code is echoed", ws.close_code == 4001, ws.close_code)

        for name, frame in (("bad JSON", "{"), ("an unknown method", '{"id":"x","method":"teleport"}'), ("a batch", "[]"),
                            ("an id that is a number", '{"id":1,"method":"connect"}'), ("deep nesting", "[" * 5000)):
            async with connect(mock.ws, compression=None) as ws:
                await ws.send(frame)
                error = await receive(ws)
                check(f"{name} gets an error object and a close", "error" in error and await closed(ws) == 1008, error)
        async with connect(mock.ws, compression=None) as ws:
            await ws.send(json.dumps({**CONNECT, "params": {**CONNECT["params"], "token": "wrong"}}))
            error = await receive(ws)
            check("a wrong token gets code 2 and a close", error["error"]["code"] == 2 and await closed(ws) == 1008, error)
        async with connect(mock.ws, compression=None) as ws:
            begin = time.monotonic()
            code = await closed(ws)
            check("a silent client is closed after 2 s", code == 1008 and 1.9 < time.monotonic() - begin < 3, time.monotonic() - begin)
        async with connect(mock.ws, compression=None, max_size=None) as ws:
            await ws.send("x" * (1 << 20) + "y")
            check("a message over 1 MiB closes with 1009", await closed(ws) == 1009, ws.close_code)

    with Mock("fragment=1") as mock:
        mock.room()
        mock.post("/message/send", {"from_uid": "author-42", "channel_id": "room-42", "channel_type": 2,
                                    "client_msg_no": "reply-42", "setting": 2, "payload": ""})
        async with connect(mock.ws, compression=None) as ws:
            await ws.send(json.dumps(CONNECT))
            await receive(ws)
            mock.event(2, "delta", {"kind": "text", "delta": "你好🙂" * 100})
            data = json.loads((await receive(ws))["params"]["data"])
            check("an event in fragments with pings between them", data["payload"]["delta"] == "你好🙂" * 100)

    def raw(mock, first):
        """Bytes on a bare socket after a proper upgrade; what the server answers."""
        host, port = mock.ws[5:].split(":")
        with socket.create_connection((host, int(port)), 5) as bare:
            bare.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                         b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n")
            head = b""
            while b"\r\n\r\n" not in head:
                head += bare.recv(4096)
            bare.sendall(first)
            answer = b""
            while True:
                piece = bare.recv(4096)
                if not piece:
                    return head, answer
                answer += piece

    with Mock() as mock:
        head, answer = raw(mock, b"\x81\x01x")
        check("the accept key is the RFC's", b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in head, head)
        check("a frame without a mask closes with 1002", answer == b"\x88\x02\x03\xea", answer)
        head, answer = raw(mock, b"\x81\x82\x00\x00\x00\x00\xff\xfe")
        check("bad UTF-8 closes with 1007", answer == b"\x88\x02\x03\xef", answer)


class Script:
    """A WuKongIM server of a few lines, made with websockets."""

    def __init__(self):
        self.log = []

    async def handle(self, ws):
        number = len([entry for entry in self.log if entry == "connected"])
        connect_frame = json.loads(await ws.recv())
        self.log.append("connected")
        self.first = connect_frame
        await ws.send(json.dumps({"jsonrpc": "2.0", "id": connect_frame["id"], "result": {"header": {}, "reasonCode": 1, "nodeId": 1}}))
        if number == 0:
            await ws.send(json.dumps({"jsonrpc": "2.0", "method": "recv", "params": {
                "header": {}, "setting": {"stream": True}, "messageId": "90071992547", "messageSeq": 9, "clientMsgNo": "reply-42",
                "timestamp": 1790000000, "channelId": "room-42", "channelType": 2, "fromUid": "author-42",
                "payload": {"type": 1, "content": ""}}}))
            self.ack = json.loads(await ws.recv())
            text, offset = "你好🙂e\u0301", 0
            for index, character in enumerate(text):
                frame = self.event(index + 2, {"kind": "text", "delta": character}, offset)

                async def pieces():
                    for at in range(0, len(frame), 20):
                        if at == 40:
                            self.pongs.append(await ws.ping(b"mid"))
                        yield frame[at:at + 20]

                self.pongs = []
                await ws.send(pieces())
                await asyncio.wait_for(self.pongs[0], 5)
                offset += len(character.encode())
            self.ping = json.loads(await ws.recv())
            await ws.send(json.dumps({"jsonrpc": "2.0", "id": self.ping["id"], "result": None}))
            await ws.close(4003, "restart")
        elif number == 1:
            # Never answers a ping: the client must reconnect.
            try:
                while True:
                    self.log.append(json.loads(await ws.recv())["method"])
            except ConnectionClosed:
                self.log.append(f"left {ws.close_code}")
        else:
            await ws.send(json.dumps({"jsonrpc": "2.0", "method": "later", "params": {}}))
            await ws.send(json.dumps({"jsonrpc": "2.0", "method": "disconnect", "params": {"reasonCode": 12, "reason": "kicked"}}))
            await closed(ws)

    @staticmethod
    def event(number, payload, offset):
        data = {"channel_id": "room-42", "channel_type": 2, "client_msg_no": "reply-42", "message_seq": "9", "event_key": "main",
                "text_offset": offset, "payload": payload}
        return json.dumps({"jsonrpc": "2.0", "method": "event", "params": {
            "id": f"reply-42:{number}", "type": "stream.delta", "timestamp": 1, "data": json.dumps(data, ensure_ascii=False)}},
            ensure_ascii=False)


async def run_client(port, fragments=1, authorities=None):
    words = [DRIVER, "client", "localhost" if authorities else "127.0.0.1", str(port), str(fragments)]
    process = await asyncio.create_subprocess_exec(
        *words, *([authorities] if authorities else []), stdout=asyncio.subprocess.PIPE)
    out, _ = await asyncio.wait_for(process.communicate(), 20)
    return out.decode().splitlines()


def certificate(folder, name):
    """A certificate that is its own authority, for one name; the paths of it and its key."""
    paths = os.path.join(folder, name + ".pem"), os.path.join(folder, name + ".key")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-out", paths[0], "-keyout", paths[1], "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"],
        check=True, capture_output=True)
    return paths


async def server_for_our_client(folder):
    def context(paths):
        made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        made.load_cert_chain(*paths)
        return made

    secure = shutil.which("openssl") is not None
    check("openssl makes certificates", secure)
    paths = certificate(folder, "localhost") if secure else None
    for fragments, over in ((1, None), (4, None)) + (((1, context(paths)), (4, context(paths))) if secure else ()):
        script = Script()
        async with serve(script.handle, "127.0.0.1", 0, compression=None, ping_interval=None, ssl=over) as server:
            port = server.sockets[0].getsockname()[1]
            lines = await run_client(port, fragments, paths[0] if over else None)
        where = f"{fragments} fragment(s){' over TLS' if over else ''}"
        check(f"connect is the first frame, {where}", script.first["method"] == "connect" and isinstance(script.first["id"], str), script.first)
        check(f"recv is acknowledged with a string id, {where}",
              script.ack["method"] == "recvack" and script.ack["params"]["messageId"] == "90071992547" and script.ack["params"]["messageSeq"] == 9, script.ack)
        check(f"fragmented events with pings between them make the text, {where}", "text 你好🙂e\u0301" in lines, lines)
        check(f"our client sends JSON-RPC pings, {where}", script.ping["method"] == "ping", script.ping)
        check(f"a close code is seen, {where}", "closed 4003 restart" in lines, lines)
        check(f"a missing pong reconnects, {where}", any(line.startswith("offline pongTimeout") for line in lines) and "left 1001" in script.log, (lines, script.log))
        check(f"kicked ends the session, {where}", lines[-1] == 'ended kicked(reason: "kicked")', lines)

    if secure:
        script = Script()
        other = context(certificate(folder, "other.test"))
        async with serve(script.handle, "127.0.0.1", 0, compression=None, ssl=other) as server:
            lines = await run_client(server.sockets[0].getsockname()[1], 1, os.path.join(folder, "other.test.pem"))
        check("a certificate of another name is refused, and nothing is sent",
              lines.count("refused tls") == 4 and lines[-1].startswith("ended gaveUp") and not script.log, lines)

        # More than a TLS record in one message: what is decrypted and not yet read must not wait for the next packet.
        async def large(ws):
            first = json.loads(await ws.recv())
            await ws.send(json.dumps({"jsonrpc": "2.0", "id": first["id"], "result": {"header": {}, "reasonCode": 1}}))
            await ws.send(Script.event(2, {"kind": "text", "delta": "你" * 16_000}, 0))
            await ws.send(json.dumps({"jsonrpc": "2.0", "method": "disconnect", "params": {"reasonCode": 12, "reason": "all"}}))
            await closed(ws)

        async with serve(large, "127.0.0.1", 0, compression=None, ssl=context(paths)) as server:
            lines = await run_client(server.sockets[0].getsockname()[1], 1, paths[0])
        check("a message of several TLS records is whole at once",
              "text " + "你" * 16_000 in lines and lines[-1] == 'ended kicked(reason: "all")', [line[:80] for line in lines])

    async def oversized(ws):
        await ws.recv()
        await ws.send("x" * (2 << 20))
        await closed(ws)
        codes.append(ws.close_code)

    codes = []
    async with serve(oversized, "127.0.0.1", 0, compression=None, max_size=None) as server:
        lines = await run_client(server.sockets[0].getsockname()[1])
    check("a message over 1 MiB is a typed error and closes with 1009", codes and codes[0] == 1009 and any("messageTooBig" in line for line in lines), (codes, lines))

    async def nonsense(ws):
        await ws.recv()
        await ws.send("[" * 10000)
        await closed(ws)

    async with serve(nonsense, "127.0.0.1", 0, compression=None) as server:
        lines = await run_client(server.sockets[0].getsockname()[1])
    check("nonsense is a typed error, and the client gives up in the end", any("protocolError" in line for line in lines) and lines[-1].startswith("ended gaveUp"), lines)


asyncio.run(client_of_our_mock())
with tempfile.TemporaryDirectory() as scratch:
    asyncio.run(server_for_our_client(scratch))
print(f"{len(failures)} failure(s)")
sys.exit(1 if failures else 0)
