"""Look for clients that disturb the server: hostile byte streams over real sockets, many at a time.

A case is one client: what it sends, how that is cut into pieces, and how it ends (reads all, sends no more, leaves,
resets, never reads). A batch of them runs at once. Responses have to be a well-formed sequence that fits what was
asked. A request that is certainly wrong is refused or not answered at all, and no client that waits is left waiting.
After each batch the server has to answer a good request, hold no connection, have bounded memory, and have written
nothing on standard error. Run it for a while with

    python tests/fuzz/server.py --seconds 600 [--cases N] [--seed N]

It ends with 0 and the number of cases when nothing was found. Otherwise it ends with 1, and prints what is wrong, the
input of the case, and the command that repeats it.
"""

import contextlib
import os
import re
import socket
import struct
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import IO, Any

import psutil

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from inflight.fake_server.site import Site, SiteConfig
from tests.fake_server.running import Running, get, read_response
from tests.fuzz._options import read_options
from tests.patience import search, soon, stopwatch

BATCH = 64
MAX_RSS_BYTES = 300 * 1024 * 1024
IDLE_TIMEOUT, IDLE_TIMEOUT_S = "500ms", 0.5
STATUSES = {200, 301, 302, 303, 307, 308, 400, 404, 405, 413, 414, 431, 500}
LAST = {400, 413, 414, 431}  # nothing follows these
ALL_FAULTS = ("reset-before", "reset-mid", "truncated", "error-500", "drip", "malformed-header", "missing-length")
SITES: tuple[dict[str, Any], ...] = (
    {},
    {"pages": 50, "redirects": 0.2, "missing": 0.2, "non_html": 0.2},
    {"delay": "uniform 0ms 20ms"},
    {"pages": 100, "body_bytes": 300_000},
    {
        "faults": dict.fromkeys((*ALL_FAULTS, "chunked"), 0.12),
        "drip_ns": 30_000_000,
        "body_bytes": 5000,
    },
    {"faults": {"drip": 0.9}, "drip_ns": 20_000_000, "pages": 60, "body_bytes": 400_000},
)

_LINGER_0 = struct.pack("ii", 1, 0)
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_ENDINGS = ("read", "read", "read", "read", "half-close", "leave", "reset", "never-read")

METHODS = (*6 * ("GET",), "HEAD", "POST", "PUT", "OPTIONS", "DELETE")
TARGETS = (*6 * ("/p/1",), "/", "/p/7", "/p/49", "/p/999", "/p/5000", "*", "http://a/p/1", "/?" + 300 * "x", "/é", "//")
FIELDS = (
    *("Accept: */*", "X:", "X: " + 3000 * "y", "Connection: keep-alive", "Connection: close", "Connection: Upgrade"),
    *("Upgrade: websocket", "Upgrade: h2c", "Expect: 100-continue", "TE: trailers", "Trailer: X", "Range: bytes=0-1"),
    *("Cookie: \xff", "Keep-Alive: timeout=9", "Transfer-Encoding: gzip", "Content-Length: 0", "x" * 500 + ": y"),
)
EXTENSIONS = ("", "", "", ";a", ";a=b", ';a="b;c"', ";" + 2000 * "x")
TRAILERS = ("", "", "X: y\r\n", "Host: b\r\n", "X: " + 5000 * "z" + "\r\n", 300 * "X: y\r\n")
# The server never takes these for a good request, wherever they are cut. (httptools takes two spaces for one.)
WRONG = (
    b"\r\n\r\nhello\r\n\r\n", b"\x00", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET\r\n\r\n",
    b"GET /p/1\r\n\r\n",
    b"get /p/1 HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /p/1 HTTP/1.1\r\n\r\n", b"GET /p/1 HTTP/3.0\r\nHost: a\r\n\r\n",
    b"GET /p/1 HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", b"GET /p/1 HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n",
    b"GET /p/1 HTTP/1.1\r\n : x\r\nHost: a\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1 1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + 5000 * b"9" + b"\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
    b"GET /" + 9000 * b"x" + b" HTTP/1.1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + 90_000 * b"x" + b"\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;" + 90_000 * b"x" + b"\r\nhello\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + 30_000 * b"1\r\nx\r\n" + b"0\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nX:" + 90_000 * b" " + b"y\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
)  # fmt: skip


class FoundError(Exception):
    """The server did what it must not; the message says what."""


@dataclass(frozen=True, slots=True)
class Case:
    """One client. `expected`: the statuses of its responses, where they are known; `wrong`: it asks for no page."""

    pieces: tuple[bytes, ...]
    pauses: bool
    ending: str
    expected: tuple[int, ...] | None
    wrong: bool


# Making cases


def make_case(random: Random, site: Site) -> Case:
    """Return a client: one of four kinds."""
    kind = random.choices(("good", "wrong", "mutated", "flood"), (3, 2, 6, 1))[0]
    expected: tuple[int, ...] | None = None
    if kind == "good":
        data, expected = good_requests(random, site)
    elif kind == "wrong":
        data = random.choice(WRONG)
    elif kind == "flood":
        data = any_request(random) * random.choice((10, 300, 1000))
    else:
        data = mutated(random, b"".join(any_request(random) for _ in range(random.choice((1, 1, 2, 5, 30)))))
    ending = "read" if expected is not None else random.choice(_ENDINGS)
    pauses = random.random() < 0.25
    return Case(cut(random, data), pauses, ending, expected, kind == "wrong")


def good_requests(random: Random, site: Site) -> tuple[bytes, tuple[int, ...] | None]:
    """Return pipelined requests and what they are answered with; pages with faults may end the connection early."""
    numbers = [random.randrange(site.config.pages) for _ in range(random.choice((1, 2, 10, 60)))]
    asked = [get(site.url_path(n), headers=random.choice(("", "Accept: */*\r\n"))) for n in numbers]
    closing_request = get("/", headers="Connection: close\r\n")
    if site.config.faults:
        return b"".join(asked) + closing_request, None
    expected = [site.page(n).status for n in numbers]
    if random.random() < 0.3:
        where = random.randrange(len(asked) + 1)
        asked.insert(where, chunked_request(random))
        expected.insert(where, 405)
    return b"".join(asked) + closing_request, (*expected, 200)


def chunked_request(random: Random) -> bytes:
    """Return a good request with a body in chunks."""
    parts = [random.randbytes(random.choice((1, 5, 300))) for _ in range(random.randrange(6))]
    chunks = b"".join(b"%x%s\r\n%s\r\n" % (len(part), extension(random), part) for part in parts)
    trailers = random.choice(TRAILERS).encode()
    return (
        get(
            "/p/1",
            method="POST",
            headers="Transfer-Encoding: chunked\r\n",
        )
        + chunks
        + b"0\r\n"
        + trailers
        + b"\r\n"
    )


def extension(random: Random) -> bytes:
    """Return what may stand behind the size of a chunk."""
    return random.choice(EXTENSIONS).encode()


def any_request(random: Random) -> bytes:
    """Return a request that may be good or not."""
    if random.random() < 0.25:
        return chunked_request(random)
    method, target, version = random.choice(METHODS), random.choice(TARGETS), random.choice(("1.1", "1.1", "1.0"))
    fields = "".join(f"{random.choice(FIELDS)}\r\n" for _ in range(random.choice((0, 0, 1, 4))))
    body = random.randbytes(random.choice((0, 0, 5, 5000)))
    if body:
        fields += f"Content-Length: {'0' * random.choice((0, 0, 5000))}{len(body)}\r\n"
    return f"{method} {target} HTTP/{version}\r\nHost: a\r\n{fields}\r\n".encode("latin-1") + body


def mutated(random: Random, data: bytes) -> bytes:
    """Return the bytes with a few changes."""
    for _ in range(random.choice((0, 1, 1, 2, 5))):
        start = random.randrange(len(data) + 1)
        end = min(len(data), start + random.choice((0, 1, 4, 40)))
        data = data[:start] + random.choice(CHANGES)(random, data[start:end]) + data[end:]
    return data


CHANGES: tuple[Callable[[Random, bytes], bytes], ...] = (
    lambda _, part: b"",  # noqa: ARG005
    lambda random, _: random.randbytes(random.choice((1, 1, 4, 100))),
    lambda random, part: part * random.choice((2, 3, 100)),
    lambda random, part: (
        part + bytes([random.choice(b"\r\n\t \0:;,=/\x7f\x80\xff")]) * random.choice((1, 2, 4000, 90_000))
    ),
    lambda random, _: random.choice((b"\r\n\r\n", b"\n", b"\r", b"\r\n", b"0\r\n\r\n", b"fffffffffffffffff\r\n")),
    lambda random, _: random.choice(WRONG),
)


def cut(random: Random, data: bytes) -> tuple[bytes, ...]:
    """Return the bytes in pieces."""
    count = random.choice((0, 0, 1, 3, 30))
    cuts = sorted(random.randrange(len(data) + 1) for _ in range(count))
    return tuple(data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True) if start < end)


# Playing them


def play(server: Running, case: Case, unread: contextlib.ExitStack) -> None:
    """Be the client; leave connections that are never read to the end of the batch. Raises FoundError."""
    lasted_s = stopwatch()
    with contextlib.ExitStack() as stack:
        sock = (unread if case.ending == "never-read" else stack).enter_context(server.connect())
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if case.ending == "reset":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_0)
        if case.ending in {"never-read", "leave", "reset"}:
            _send(sock, case)
            return
        with ThreadPoolExecutor(1) as sender:  # a client that only sends at first would wait for us, and we for it
            sending = sender.submit(_send, sock, case)
            answer = _receive(sock)
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sending.result()
    check(case, answer, was_slow=lasted_s() >= IDLE_TIMEOUT_S)


def _send(sock: socket.socket, case: Case) -> None:
    try:
        for piece in case.pieces:
            if case.ending == "never-read":
                sock.setblocking(False)
                sock.send(piece)
            else:
                sock.sendall(piece)
            if case.pauses:
                os.sched_yield()  # the server may read what there is
        if case.ending == "half-close":
            sock.shutdown(socket.SHUT_WR)
    except OSError:
        return  # the server has hung up, or reads no more


def _receive(sock: socket.socket) -> bytes:
    answer = bytearray()
    with contextlib.suppress(ConnectionError):
        while data := sock.recv(65536):
            answer += data
    return bytes(answer)


def check(case: Case, answer: bytes, *, was_slow: bool) -> None:
    """Judge what a client received until the end. Raises FoundError.

    A client that was slow, because the machine is busy, may have been closed as an idle one before it had all answers.
    """
    statuses = [int(status) for status in _STATUS.findall(answer)]
    if answer and not answer.startswith(b"HTTP/1.1 "[: len(answer)]):
        raise FoundError(f"the answer begins with {answer[:40]!r}")
    if unknown := set(statuses) - STATUSES:
        raise FoundError(f"statuses {unknown}")
    if not LAST.isdisjoint(statuses[:-1]):
        raise FoundError(f"the server went on after it had refused a request: {statuses}")
    if case.wrong and (len(statuses) > 1 or not LAST.issuperset(statuses)):
        raise FoundError(f"a wrong request was answered with {statuses}")
    is_cut_off = was_slow and case.expected is not None and tuple(statuses) == case.expected[: len(statuses)]
    if case.expected is not None and tuple(statuses) != case.expected and not is_cut_off:
        raise FoundError(f"expected {case.expected}, not {statuses}")


class Target:
    """A server under attack."""

    def __init__(self, stderr: IO[bytes]) -> None:
        self.stderr = stderr
        self.running = Running("--idle-timeout", IDLE_TIMEOUT, stderr=stderr)

    def attack(self, cases: Sequence[Case], config: dict[str, Any]) -> None:
        """Play the cases, all at once, and look at the server afterwards. Raises FoundError."""
        try:
            self._check_reply(self.running.do("configure", site=config))
            with contextlib.ExitStack() as unread, ThreadPoolExecutor(len(cases)) as pool:
                playing = [pool.submit(play, self.running, case, unread) for case in cases]
                if not soon(lambda: all(one.done() for one in playing)):
                    self.running.process.kill()  # so that they end
                    raise FoundError("the server neither reads, answers nor hangs up")
                for one in playing:
                    one.result()
            self._check_server(Site(SiteConfig.from_dict(config)))
        except (OSError, ValueError) as error:
            raise FoundError(f"{type(error).__name__}: {error}; {self._written()}") from error

    def stop(self) -> None:
        """End the server."""
        if self.running.process.poll() is None:
            self.running.process.kill()
        self.running.stop()

    def _check_reply(self, reply: Any) -> None:
        if not reply["ok"]:
            raise FoundError(f"the control port says {reply}")

    def _check_server(self, site: Site) -> None:
        with self.running.connect() as sock:
            sock.sendall(get("/"))
            if read_response(sock)[2] != site.body(0):
                raise FoundError("page 0 is not what it was")
        if not soon(lambda: not (stats := self.running.stats())["connections"] and not stats["in_flight"]):
            raise FoundError(f"connections or requests are left: {self.running.stats()}")
        rss_bytes = psutil.Process(self.running.process.pid).memory_info().rss
        if rss_bytes > MAX_RSS_BYTES:
            raise FoundError(f"the server has grown to {rss_bytes:,} bytes")
        if written := self._written():
            raise FoundError(f"the server wrote on standard error: {written}")

    def _written(self) -> str:
        self.stderr.seek(0)
        return self.stderr.read().decode(errors="replace")


def failure(numbers: Sequence[int], target: Target) -> str | None:
    """Attack with these cases; return what is wrong, or None."""
    config = SITES[numbers[0] // BATCH % len(SITES)]
    site = Site(SiteConfig.from_dict(config))
    try:
        target.attack([make_case(Random(number), site) for number in numbers], config)
    except FoundError as error:
        return str(error)
    return None


@contextlib.contextmanager
def attacked() -> Any:
    """Start a server, and stop it."""
    with tempfile.TemporaryFile() as stderr:
        target = Target(stderr)
        try:
            yield target
        finally:
            target.stop()


def tell(numbers: Sequence[int], wrong: str) -> None:
    """Print what was found: the first case that finds it alone, or the whole batch."""
    for number in numbers:
        with attacked() as target:
            alone = failure([number], target)
        if alone is not None:
            site = Site(SiteConfig.from_dict(SITES[number // BATCH % len(SITES)]))
            print(f"server: {alone}\n{make_case(Random(number), site)!r:.5000}\nagain: --seed {number} --cases 1")
            return
    print(f"server: {wrong}\n(no case does it alone)\nagain: --seed {numbers[0]} --cases {len(numbers)}")


def main() -> int:
    """Look for some time, or at some cases; return the exit code."""
    asked = read_options("Look for clients that disturb the server.")
    cases, batch = 0, list[int]()
    with attacked() as target:
        for number in search(asked.seed, asked.cases, asked.seconds):
            batch.append(number)
            if (number + 1) % BATCH and cases + len(batch) != asked.cases:
                continue
            wrong = failure(batch, target)
            if wrong is not None:
                tell(batch, wrong)
                return 1
            cases += len(batch)
            batch.clear()
    print(f"server: {cases:,} cases with seed {asked.seed}, nothing found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
