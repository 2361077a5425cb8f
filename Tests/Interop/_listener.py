# A server on a free port, with a thread for each connection. Not a test itself.

import contextlib
import socket
import threading


class Listener:
    """`serve(client)` is the subclass's; it may come before its own `__init__` is over, so that what it needs is set before."""

    def __init__(self, backlog=128):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=backlog)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.socket.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()
