"""A real server process, and a small client without any HTTP library."""

import json
import os
import secrets
import socket
import subprocess
import sys
from collections.abc import Callable
from typing import IO, Any

from inflight.fake_server.config import CONTROL_SECRET


class Running:
    """A server process, its public port and its control connection."""

    def __init__(self, *options: str, stderr: IO[bytes] | None = None) -> None:
        self.secret = secrets.token_hex()
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "inflight.fake_server", "--port", "0", "--control-port", "0"),
                *("--ready-line", "--exit-with-stdin", *options),
            ],
            env=os.environ | {CONTROL_SECRET: self.secret},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
        assert self.process.stdout is not None
        self.ready = json.loads(self.process.stdout.readline())
        self.port: int = self.ready["port"]
        self._control = socket.create_connection(("127.0.0.1", self.ready["control_port"]))
        self._replies = self._control.makefile("rb")
        assert self.send_line(self.secret.encode()) == {"ok": True}

    def send_line(self, line: bytes) -> Any:
        self._control.sendall(line + b"\n")
        return self.next_reply()

    def next_reply(self) -> Any:
        return json.loads(self._replies.readline())

    def hung_up(self) -> bool:
        return not self._replies.readline()

    def do(self, command: str, **more: Any) -> Any:
        return self.send_line(json.dumps({"do": command, **more}).encode())

    def stats(self) -> dict[str, Any]:
        stats: dict[str, Any] = self.do("stats")["stats"]
        return stats

    def stats_when(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Ask until the condition holds. The test's own time limit is the guard."""
        while not condition(stats := self.stats()):
            pass
        return stats

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port))

    def exchange(self, request: bytes) -> bytes:
        """Send bytes, and return all that comes until the server closes."""
        with self.connect() as sock:
            sock.sendall(request)
            return read_all(sock)

    def stop(self) -> int:
        self._replies.close()
        self._control.close()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        code = self.process.wait()
        self.process.stdout.close()
        return code


Start = Callable[..., Running]
"""Starts a server with options; the fixture ``start``."""


def read_all(sock: socket.socket) -> bytes:
    return b"".join(iter(lambda: sock.recv(65536), b""))


def read_response(sock: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """Read one response that has a Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += receive(sock)
    head, _, body = data.partition(b"\r\n\r\n")
    status, headers = parse_head(head)
    while len(body) < int(headers["content-length"]):
        body += receive(sock)
    assert len(body) == int(headers["content-length"]), "more than one response"
    return status, headers, body


def receive(sock: socket.socket) -> bytes:
    data = sock.recv(65536)
    assert data, "the server closed too early"
    return data


def parse_head(head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head.decode("ascii").split("\r\n")
    fields = (line.partition(": ") for line in lines)
    return int(first.split()[1]), {name.lower(): value for name, _, value in fields}


def get(target: str = "/", *, headers: str = "", method: str = "GET", version: str = "1.1") -> bytes:
    return f"{method} {target} HTTP/{version}\r\nHost: test\r\n{headers}\r\n".encode()
