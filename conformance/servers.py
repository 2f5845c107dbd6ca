"""The server of the suite: real sockets, and scripts that say what it does when a path is requested.

It is one process for all tests, so that the threads and descriptors that a crawl leaves behind are the crawl's. A
script is data: bytes to send, and steps such as ``CLOSE`` or ``("seen", 3)``. All pauses of the suite are in this file.
A pause gives a wrong strategy time to show itself; a strategy that is right passes however long a pause is.
"""

import _ssl
import contextlib
import ctypes
import multiprocessing
import os
import select
import signal
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import Any, NamedTuple

from inflight.fake_server import config

Step = bytes | tuple[Any, ...]
"""Bytes to send, or the name of a method of ``_Connection`` or ``_Stage`` with its arguments, as ``("seen", 3)``."""
Script = Step | tuple[Step, ...]
Scripts = Mapping[str, Script]
"""Path -> script; ``*`` stands for all other paths. What has no script is a 404."""

CLOSE, RESET, HANG, MOMENT = ("close",), ("reset",), ("hang",), ("moment",)
SHAKE_HANDS = ("shake_hands",)
READ_HELLO = ("read_hello",)
NOTIFY = ("notify",)
SEND_TICKET = ("send_ticket",)
"""Steps of connections over TLS."""
CERTIFICATES = Path(config.__file__).with_name("certificates")
CA = str(CERTIFICATES / "ca.pem")
"""The CA that has signed all certificates of the servers."""

_MOMENT_S = 0.05
DRIP_S = 0.02
_PIECE_S = 0.003
_POLL_S = 0.01
_LINGER_0 = struct.pack("ii", 1, 0)  # close() then resets the connection


class Request(NamedTuple):
    """A request as the server saw it."""

    target: str
    head: str
    port: int


@dataclass(frozen=True)
class Observed:
    """What a server saw of a crawl. In flight is what was asked and had not begun to be answered."""

    requests: list[Request]
    peak_in_flight: int
    connections: int

    @property
    def targets(self) -> Counter[str]:
        """The number of requests of each target."""
        return Counter(request.target for request in self.requests)


class Servers:
    """The handle of the process; ``serve`` opens a server in it."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()

    def serve(
        self, scripts: Scripts | None = None, host: str = "127.0.0.1", port: int = 0, early: Script = ()
    ) -> "Server":
        """Open a server at an address; ``early`` is played when a part of a long request has come."""
        server = Server(self, self.ask("listen", host, port, early))
        server.play(scripts or {})
        return server

    def serve_tls(self, scripts: Scripts, certificate: str = "right", hello: Script = SHAKE_HANDS) -> "Server":
        """Open a server of https; ``hello`` is played when a connection is new, before its first request."""
        server = Server(self, self.ask("listen_tls", certificate, hello), "https")
        server.play(scripts)
        return server

    def end(self) -> None:
        """Close all servers with their connections; the next test begins with new counters."""
        self.ask("end")

    def ask(self, what: str, *values: Any) -> Any:
        """Call a method in the process."""
        with self._lock:
            self._pipe.send((what, *values))
            return self._pipe.recv()

    def wait_until_seen(self, number: int, or_when: Callable[[], object]) -> None:
        """Wait until the servers have seen this many requests, or until ``or_when()`` is true."""
        while self.ask("number") < number and not or_when():
            time.sleep(_POLL_S)

    @contextlib.contextmanager
    def answering(self, answers: Mapping[str, str], before: Callable[[], None]) -> Iterator[None]:
        """During the block, wait for each name that a script says, in this order, and reply with another one.

        ``before()`` is called in this process before each reply.
        """
        is_over = threading.Event()

        def answer() -> None:
            for name, reply in answers.items():
                while not self.ask("has_heard", name):
                    if is_over.wait(_POLL_S):
                        return
                before()
                self.ask("say", reply)

        answering = threading.Thread(target=answer)
        answering.start()
        try:
            yield
        finally:
            is_over.set()
            answering.join()


class Server:
    """The handle of one server."""

    def __init__(self, servers: Servers, port: int, scheme: str = "http") -> None:
        self.servers = servers
        self.port = port
        self.url = f"{scheme}://127.0.0.1:{port}"

    def play(self, scripts: Scripts) -> None:
        """Use these scripts from now on."""
        self.servers.ask("play", self.port, dict(scripts))

    def observed(self) -> Observed:
        """Return what the server has seen so far."""
        observed: Observed = self.servers.ask("observed", self.port)
        return observed


@contextlib.contextmanager
def running(patience_s: float | None = None) -> Iterator[Servers]:
    """Run the process of the servers until the end of the ``with`` block.

    A script that waits for more requests goes on when none has come for ``patience_s``; None: it waits for ever.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(theirs, ours, patience_s), daemon=True)
    process.start()
    theirs.close()
    try:
        yield Servers(ours)
    finally:
        ours.close()
        process.kill()
        process.join()
        process.close()


@contextlib.contextmanager
def silent() -> Iterator[int]:
    """Listen at a port of 127.0.0.1 with a full backlog, so that the kernel drops every further connection."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        waiting = [stack.enter_context(socket.socket()) for _ in range(8)]
        for sock in waiting:
            sock.setblocking(False)
            sock.connect_ex(address)
        _, connected, _ = select.select([], waiting, [], 0)
        assert len(connected) < len(waiting)
        yield address[1]


def _run(pipe: Pipe, other_end: Pipe, patience_s: float | None) -> None:
    other_end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stage = _Stage(patience_s)
    with contextlib.suppress(EOFError, OSError):  # the session is over
        while True:
            what, *values = pipe.recv()
            pipe.send(getattr(stage, what)(*values))
            if stage.is_over:
                stage = _Stage(patience_s)
    os._exit(0)


class _Stage:
    """All servers of one test. The upper methods are what tests ask for, the others what scripts and connections do."""

    def __init__(self, patience_s: float | None) -> None:
        self.patience_s = patience_s
        self.has_lost_patience = False
        self.changed = threading.Condition()
        self.scripts: dict[int, Scripts] = {}
        self.requests: list[Request] = []
        self.connections: Counter[int] = Counter()
        self.sockets: set[socket.socket] = set()
        self.heard: set[str] = set()
        self.passed: set[int] = set()
        self.in_flight = self.peak = 0
        self.is_over = False

    def listen(self, host: str, port: int, early: Script) -> int:
        return self.accept_at(host, port, _Connection, ((), early))

    def listen_tls(self, certificate: str, hello: Script) -> int:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(CERTIFICATES / f"{certificate}.pem")
        scripts = (hello, ())
        return self.accept_at("127.0.0.1", 0, partial(_TlsConnection, context), scripts)

    def play(self, port: int, scripts: Scripts) -> None:
        self.scripts[port] = scripts

    def observed(self, port: int) -> Observed:
        with self.changed:
            requests = [request for request in self.requests if request.port == port]
            return Observed(requests, self.peak, self.connections[port])

    def number(self) -> int:
        return len(self.requests)

    def has_heard(self, name: str) -> bool:
        return name in self.heard

    def end(self) -> None:
        with self.changed:
            self.is_over = True
            self.changed.notify_all()
            for sock in self.sockets:
                with contextlib.suppress(OSError):  # its thread has just closed it
                    sock.shutdown(socket.SHUT_RDWR)

    def seen(self, number: int) -> None:
        """Wait until the servers have seen this many requests, and briefly for more that should not come.

        After one wait in vain, no other script of the test waits: the client fetches fewer at once, as the test says.
        """
        self.wait_until(lambda: self.has_lost_patience or len(self.requests) >= number, self.patience_s)
        if number not in self.passed:
            time.sleep(_MOMENT_S)
            self.passed.add(number)

    def say(self, name: str) -> None:
        """Let all go on that wait for this name."""
        with self.changed:
            self.heard.add(name)
            self.changed.notify_all()

    def hear(self, name: str) -> None:
        """Wait until this name has been said."""
        self.wait_until(lambda: name in self.heard)

    def wait_until(self, is_so: Callable[[], bool], patience_s: float | None = None) -> None:
        """Wait, but no longer than ``patience_s`` for the next thing to happen; raise OSError when the test is over."""
        with self.changed:
            while not (self.is_over or is_so()):
                if not self.changed.wait(patience_s):
                    self.has_lost_patience = True
                    self.changed.notify_all()
                    break
            if self.is_over:
                raise OSError

    def accept_at(
        self,
        host: str,
        port: int,
        new: Callable[..., "_Connection"],
        scripts: tuple[Script, Script],
    ) -> int:
        """Accept connections at an address from now on: ``new(stage, sock, port)`` of each serves these scripts."""
        listener = socket.create_server((host, port), backlog=1024)
        port = listener.getsockname()[1]
        self.sockets.add(listener)
        threading.Thread(target=self.accept, args=(listener, port, new, scripts), daemon=True).start()
        return port

    def accept(
        self, listener: socket.socket, port: int, new: Callable[..., "_Connection"], scripts: tuple[Script, Script]
    ) -> None:
        with contextlib.suppress(OSError), listener:
            while True:
                sock, _ = listener.accept()
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with self.changed:
                    self.connections[port] += 1
                    self.sockets.add(sock)
                connection = new(self, sock, port)
                threading.Thread(target=connection.serve, args=scripts, daemon=True).start()


class _Connection:
    """One connection. The lower methods, and those of the stage, are the steps of scripts."""

    def __init__(self, stage: _Stage, sock: socket.socket, port: int) -> None:
        self.stage, self.sock, self.port = stage, sock, port
        self.number = stage.connections[port]
        self.earlier = 0
        self.tries = 0
        self.is_open = True
        self.is_answered = False

    def serve(self, hello: Script, early: Script) -> None:
        with contextlib.suppress(OSError):
            self.play(hello)
            # With "Connection: close" too, it is the client's part to close.
            while self.is_open and (head := self.read_head(early)):
                target = head.split(" ")[1]
                self.note(Request(target, head, self.port))
                scripts = self.stage.scripts[self.port]
                self.play(scripts.get(target) or scripts.get("*", NOT_FOUND))
                self.earlier += 1
        self.sock.close()
        with self.stage.changed:
            self.stage.sockets.discard(self.sock)

    def read_head(self, early: Script) -> str:
        data = bytearray()
        while not data.endswith(b"\r\n\r\n"):
            if data:
                self.play(early)
            more = self.sock.recv(1_000_000 if data else 65_536)
            if not more:
                return ""
            data += more
        return data.decode("latin-1")

    def note(self, request: Request) -> None:
        stage = self.stage
        with stage.changed:
            self.tries = sum(request.target == other.target and other.port == self.port for other in stage.requests)
            self.is_answered = False
            stage.requests.append(request)
            stage.in_flight += 1
            stage.peak = max(stage.peak, stage.in_flight)
            stage.changed.notify_all()

    def answer(self) -> None:
        if not self.is_answered:
            self.is_answered = True
            with self.stage.changed:
                self.stage.in_flight -= 1

    def play(self, script: Script) -> None:
        steps: Any = (script,) if script and isinstance(script[0], int | str) else script
        for step in steps:
            what, *values = ("pieces", step) if isinstance(step, bytes) else step
            (getattr(self, what, None) or getattr(self.stage, what))(*values)

    def by_try(self, *scripts: Script) -> None:
        """Play the first script for the first request of the path, and so on; the last one for all others."""
        self.play(scripts[min(self.tries, len(scripts) - 1)])

    def by_connection(self, first: Script, later: Script) -> None:
        """Play one script on the first connection to the server, and another one on all others."""
        self.play(first if self.number == 1 else later)

    def by_use(self, new: Script, kept: Script) -> None:
        """Play one script for the first request of a connection, and another one for all others."""
        self.play(kept if self.earlier else new)

    def moment(self) -> None:
        """Give the client time to read what it was sent, and to notice a closed connection."""
        time.sleep(_MOMENT_S)

    def pieces(self, *parts: bytes) -> None:
        """Send bytes one after another, so that the client nearly always reads them one by one."""
        self.answer()
        with contextlib.suppress(OSError):  # the client has gone: that is its right
            for part in parts:
                self.sock.sendall(part)
                time.sleep(_PIECE_S if len(parts) > 1 else 0)

    def repeat(self, piece: bytes, pause_s: float) -> None:
        """Send the same bytes again and again until the client disconnects."""
        self.answer()
        with contextlib.suppress(OSError):
            while True:
                self.sock.sendall(piece)
                time.sleep(pause_s)
        self.close()

    def hang(self) -> None:
        """Neither answer nor close until the client disconnects."""
        with contextlib.suppress(OSError):
            while self.sock.recv(65536):
                pass
        self.close()

    def close(self) -> None:
        """Close the connection after this request."""
        self.answer()
        self.is_open = False

    def reset(self) -> None:
        """Reset the connection."""
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_0)
        self.close()


class _TlsConnection(_Connection):
    """One connection over TLS; its methods are further steps of scripts."""

    def __init__(self, context: ssl.SSLContext, stage: _Stage, sock: socket.socket, port: int) -> None:
        super().__init__(stage, sock, port)
        self.context = context

    def read_hello(self) -> None:
        """Read what the client sends first, so that the connection is closed and not reset with it unread."""
        self.sock.recv(65_536)

    def shake_hands(self) -> None:
        """Encrypt from now on. Tickets follow at once, as OpenSSL sends them."""
        raw = self.sock
        self.sock = self.context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False)
        with self.stage.changed:
            self.stage.sockets.discard(raw)
            self.stage.sockets.add(self.sock)
        self.sock.do_handshake()

    def notify(self) -> None:
        """Say that no more comes (close_notify), and do not wait for the client's part of it."""
        assert isinstance(self.sock, ssl.SSLSocket)
        self.sock.setblocking(False)
        with contextlib.suppress(OSError):  # it would wait, or the client has gone
            self.sock.unwrap()

    def records(self, data: bytes, size: int) -> None:
        """Send bytes in records of this size, as fast as they go."""
        self.answer()
        with contextlib.suppress(OSError):  # the client has gone
            for start in range(0, len(data), size):
                self.sock.sendall(data[start : start + size])

    def send_ticket(self) -> None:
        """Send a session ticket, which a server may do at any time (RFC 8446, section 4.6.1).

        The ``ssl`` module has no function for it, but OpenSSL has: its connection stands before the context in the
        object of ``_ssl``.
        """
        assert isinstance(self.sock, ssl.SSLSocket)
        assert NEW_TICKET is not None
        inner = self.sock._sslobj  # type: ignore[attr-defined]  # noqa: SLF001
        length = type(inner).__basicsize__ // ctypes.sizeof(ctypes.c_void_p)
        words = [*(ctypes.c_void_p * length).from_address(id(inner))]
        connection = words[words.index(id(self.context)) - 1]
        NEW_TICKET(ctypes.c_void_p(connection))
        self.sock.do_handshake()  # it sends what waits


NEW_TICKET = getattr(ctypes.CDLL(getattr(_ssl, "__file__", None)), "SSL_new_session_ticket", None)
"""A function of OpenSSL 3; None: Python has another library, or does not export its functions."""


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


NOT_FOUND = response(404, b'<a href="/trap">')
LINK = b'<a href="/linked">'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
"""The beginning of a page."""
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
