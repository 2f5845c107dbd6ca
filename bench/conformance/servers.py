"""A server for one test: real sockets, and a function that answers each request in whatever way the test needs.

It runs in a process of its own, so that the threads and descriptors that a crawl leaves behind are the crawl's.
"""

import contextlib
import errno
import multiprocessing
import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection as Pipe
from typing import NamedTuple

_LINGER_0 = struct.pack("ii", 1, 0)  # close() then resets the connection
MOST_PORTS = 20
"""Maximum number of ports that ``beside_silent`` tries."""


class Request(NamedTuple):
    """A request as the server saw it; ``number`` counts those that came before it on its connection."""

    target: str
    head: str
    connection: int
    number: int


@dataclass(frozen=True)
class Observed:
    """What the server saw of a crawl. In flight is what was asked and had not begun to be answered."""

    requests: list[Request]
    peak_in_flight: int
    connections: int

    def count(self, target: str) -> int:
        """Return the number of requests of a target."""
        return sum(request.target == target for request in self.requests)


class Exchange:
    """One request, and the ways to answer it."""

    def __init__(self, server: "_Server", sock: socket.socket, request: Request, tries: int) -> None:
        self.request = request
        self.target = request.target
        self.earlier_tries = tries
        self.is_open = True
        self._server = server
        self._sock = sock
        self._answered = False

    def send(self, data: bytes) -> None:
        """Send these bytes; the request counts as answered."""
        self._answer()
        with contextlib.suppress(OSError):  # the client has gone: that is its right
            self._sock.sendall(data)

    def close(self) -> None:
        """Close the connection after this request."""
        self._answer()
        self.is_open = False

    def reset(self) -> None:
        """Reset the connection."""
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_0)
        self.close()

    def hang(self) -> None:
        """Neither answer nor close until the client disconnects."""
        with contextlib.suppress(OSError):
            while self._sock.recv(65536):
                pass
        self.close()

    def send_for_ever(self, data: bytes, pause: float = 0.0) -> None:
        """Send the same data repeatedly until the client disconnects."""
        self._answer()
        with contextlib.suppress(OSError):
            while True:
                self._sock.sendall(data)
                time.sleep(pause)
        self.close()

    def stop_reading(self) -> None:
        """Leave the connection open and unread until the end of the test."""
        threading.Event().wait()

    def wait_until_in_flight(self, number: int) -> None:
        """Wait until this many requests are in flight at once."""
        self._server.gate.wait_for(number)

    def wait_at_gate(self, number: int) -> None:
        """Wait until this many requests were in flight at once, and then briefly for any that should not come."""
        self._server.gate.wait_once_for(number)

    def _answer(self) -> None:
        if not self._answered:
            self._answered = True
            self._server.answered()


Handler = Callable[[Exchange], None]


class Server:
    """The handle of a running server."""

    def __init__(self, port: int, pipe: Pipe) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self._pipe = pipe

    def observed(self) -> Observed:
        """Return what the server has seen so far."""
        self._pipe.send("observed")
        answer = self._pipe.recv()
        assert isinstance(answer, Observed)
        return answer


@contextlib.contextmanager
def running(handler: Handler, host: str = "127.0.0.1") -> Iterator[Server]:
    """Serve in a separate process until the end of the ``with`` block."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    with socket.create_server((host, 0), family=family, backlog=1024) as listener:
        process = context.Process(target=_run, args=(listener, handler, theirs, ours), daemon=True)
        process.start()
        port = listener.getsockname()[1]
    theirs.close()
    try:
        yield Server(port, ours)
    finally:
        ours.close()
        process.join(10)
        process.kill()
        process.join()
        process.close()


@contextlib.contextmanager
def silent(port: int) -> Iterator[None]:
    """Listen on 127.0.0.1 with a full backlog, so that the kernel drops every further connection."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(0)
        waiting = [stack.enter_context(socket.socket()) for _ in range(8)]
        for sock in waiting:
            sock.setblocking(False)
            sock.connect_ex(("127.0.0.1", port))
        _, connected, _ = select.select([], waiting, [], 0)
        assert len(connected) < len(waiting)
        yield


def beside_silent(stack: contextlib.ExitStack, serve: Callable[[], Server]) -> Server:
    """Return a server on another address whose port is ``silent`` on 127.0.0.1 until the stack is closed.

    Any program may use this port of 127.0.0.1, so further servers are tried. Raises OSError.
    """
    for _ in range(MOST_PORTS):
        server = serve()
        try:
            stack.enter_context(silent(server.port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            return server
    raise OSError(errno.EADDRINUSE, f"{MOST_PORTS} ports of 127.0.0.1 are in use")


def _run(listener: socket.socket, handler: Handler, pipe: Pipe, other_end: Pipe) -> None:
    other_end.close()
    server = _Server(handler)
    threading.Thread(target=server.accept, args=(listener,), daemon=True).start()
    with contextlib.suppress(EOFError):  # the test is over
        while pipe.recv():
            pipe.send(server.observed())
    os._exit(0)


class _Gate:
    """Counts what is in flight; opens for good when it is so many, after a moment in which more could come."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.in_flight = 0
        self.is_open = False

    def change(self, by: int) -> int:
        with self.changed:
            self.in_flight += by
            self.changed.notify_all()
            return self.in_flight

    def wait_for(self, number: int) -> None:
        with self.changed:
            self.changed.wait_for(lambda: self.in_flight >= number)

    def wait_once_for(self, number: int) -> None:
        with self.changed:
            self.changed.wait_for(lambda: self.is_open or self.in_flight >= number)
            if not self.is_open:
                self.changed.wait(0.05)
                self.is_open = True
                self.changed.notify_all()


class _Server:
    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.lock = threading.Lock()
        self.gate = _Gate()
        self.requests: list[Request] = []
        self.peak = 0
        self.connections = 0

    def observed(self) -> Observed:
        with self.lock:
            return Observed(list(self.requests), self.peak, self.connections)

    def accept(self, listener: socket.socket) -> None:
        while True:
            sock, _ = listener.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            threading.Thread(target=self.serve, args=(sock, self.connections), daemon=True).start()

    def serve(self, sock: socket.socket, connection: int) -> None:
        with contextlib.suppress(OSError), sock:
            is_open, number = True, 0
            while is_open and (head := self.read_head(sock)):
                request = Request(head.split(" ")[1], head, connection, number)
                exchange = Exchange(self, sock, request, self.note(request))
                self.handler(exchange)
                is_open = exchange.is_open and "\r\nConnection: close\r\n" not in head
                number += 1

    def read_head(self, sock: socket.socket) -> str:
        data = b""
        while not data.endswith(b"\r\n\r\n"):
            more = sock.recv(65536)
            if not more:
                return ""
            data += more
        return data.decode("latin-1")

    def note(self, request: Request) -> int:
        with self.lock:
            tries = sum(request.target == other.target for other in self.requests)
            self.requests.append(request)
            self.peak = max(self.peak, self.gate.change(+1))
            return tries

    def answered(self) -> None:
        self.gate.change(-1)


def response(status: int = 200, body: bytes = b"", kind: str | None = "text/html", **fields: str) -> bytes:
    """Return a response with a length; ``fields`` are further header fields, with ``_`` for ``-``."""
    if kind is not None:
        fields = {"Content_Type": kind, **fields}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} Some Reason\r\nContent-Length: {len(body)}\r\n{lines}\r\n".encode() + body


def page(*hrefs: str, **fields: str) -> bytes:
    """Return a page with these links."""
    return response(200, "\n".join(f'<a href="{href}">' for href in hrefs).encode(), **fields)


def moved(location: str | None, status: int = 302) -> bytes:
    """Return a redirect with a body that links to a trap."""
    body = b'<a href="/trap">'
    return response(status, body) if location is None else response(status, body, Location=location)


def site(pages: Mapping[str, bytes]) -> Handler:
    """Answer each target with its response, all others with 404."""
    missing = response(404, b'<a href="/trap">')
    return lambda exchange: exchange.send(pages.get(exchange.target, missing))
