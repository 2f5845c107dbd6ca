"""libcurl's multi interface on a loop of our own: curl says which sockets to wait for, and does all else in C."""

import selectors
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Literal

import pycurl

from inflight.strategies.base import Job
from inflight.strategies.client import request_headers
from inflight.strategies.core.frontier import Frontier
from inflight.strategies.core.http1 import ClosedEarlyError, ProtocolError, Response, TooLargeError, make_response
from inflight.strategies.core.kept import MAX_KEPT
from inflight.strategies.core.lag import Timer
from inflight.strategies.core.page import Fetch
from inflight.strategies.core.work import consume

STACK: Literal["shared", "own"] = "own"
REQUIRES: tuple[str, ...] = ("pycurl",)
GROUP = "clients"

EVENTS = {
    pycurl.POLL_IN: selectors.EVENT_READ,
    pycurl.POLL_OUT: selectors.EVENT_WRITE,
    pycurl.POLL_INOUT: selectors.EVENT_READ | selectors.EVENT_WRITE,
}
"""Events that libcurl waits for, as the selector's events."""
READY = {
    selectors.EVENT_READ: pycurl.CSELECT_IN,
    selectors.EVENT_WRITE: pycurl.CSELECT_OUT,
    selectors.EVENT_READ | selectors.EVENT_WRITE: pycurl.CSELECT_IN | pycurl.CSELECT_OUT,
}
"""Events of the selector, as libcurl's."""
FAILURES: dict[int, type[OSError | ProtocolError]] = {
    pycurl.E_COULDNT_RESOLVE_HOST: socket.gaierror,
    pycurl.E_OPERATION_TIMEDOUT: TimeoutError,
    pycurl.E_PARTIAL_FILE: ClosedEarlyError,
    pycurl.E_GOT_NOTHING: ClosedEarlyError,
    pycurl.E_WRITE_ERROR: TooLargeError,  # our own refusal of more of it
    pycurl.E_FILESIZE_EXCEEDED: TooLargeError,
}
"""What curl's errors mean where the system has given no number; others are a ProtocolError."""


def crawl(job: Job, frontier: Frontier) -> None:
    """Start what waits, up to the cap; let curl work on each socket that is ready; collect what has ended."""
    loop = Loop(job, frontier) if frontier.timer is None else TimedLoop(job, frontier, frontier.timer)
    with loop.interruptible():
        try:
            loop.run()
        finally:
            loop.close()


class Loop:
    """The event loop, and curl's multi handle, which owns the connections."""

    def __init__(self, job: Job, frontier: Frontier) -> None:
        self.job = job
        self.frontier = frontier
        self.waiting = deque(frontier.roots())
        self.idle: list[Transfer] = []
        self.transfers: dict[pycurl.Curl, Transfer] = {}
        self.selector = selectors.DefaultSelector()
        self.due_ns: int | None = None
        self.in_curl = self.interrupted = False
        self.multi = pycurl.CurlMulti()
        self.multi.setopt(pycurl.M_SOCKETFUNCTION, self.watch)
        self.multi.setopt(pycurl.M_TIMERFUNCTION, self.set_timer)
        # Kept connections: else four times as many as transfers, which is too few when the origin changes.
        self.multi.setopt(pycurl.M_MAXCONNECTS, job.max_in_flight + MAX_KEPT)

    def run(self) -> None:
        self.start()
        while not self.frontier.done:
            for key, events in self.selector.select(self.patience()):
                self.call_curl(self.multi.socket_action, key.fd, READY[events])
            if self.due_ns is not None and time.monotonic_ns() >= self.due_ns:
                self.due_ns = None
                self.call_curl(self.multi.socket_action, pycurl.SOCKET_TIMEOUT, 0)
            self.collect()
            self.start()

    def start(self) -> None:
        """Start a transfer for each fetch that may be in flight now."""
        while self.waiting and self.frontier.in_flight < self.job.max_in_flight:
            fetch = self.waiting.popleft()
            self.frontier.start(fetch)
            transfer = self.idle.pop() if self.idle else self.new_transfer()
            transfer.begin(fetch)
            self.call_curl(self.multi.add_handle, transfer.curl)  # it sets the timer to now

    def collect(self) -> None:
        """Record the transfers that have ended."""
        more = 1
        while more:
            more, succeeded, failed = self.multi.info_read()
            for curl in succeeded:
                transfer = self.end(curl)
                response = transfer.response()
                consume(self.job)
                self.waiting.extend(self.frontier.finish(transfer.fetch, response))
            for curl, number, message in failed:
                transfer = self.end(curl)
                self.waiting.extend(self.frontier.fail(transfer.fetch, transfer.failure(number, message)))

    def end(self, curl: pycurl.Curl) -> "Transfer":
        self.call_curl(self.multi.remove_handle, curl)
        transfer = self.transfers[curl]
        self.idle.append(transfer)
        return transfer

    def new_transfer(self) -> "Transfer":
        transfer = Transfer(self.job)
        self.transfers[transfer.curl] = transfer
        return transfer

    def call_curl(self, function: Callable[..., object], *arguments: object) -> None:
        """Call a function of the multi handle that may call back. Ctrl-C takes effect when it has returned."""
        self.in_curl = True
        function(*arguments)
        self.in_curl = False
        if self.interrupted:
            raise KeyboardInterrupt

    def watch(self, what: int, fd: int, _multi: object, _data: object) -> None:
        """Do what curl asks for: watch a socket, in another way than before perhaps, or no longer."""
        if what == pycurl.POLL_REMOVE:
            self.selector.unregister(fd)
        elif fd in self.selector.get_map():
            self.selector.modify(fd, EVENTS[what])
        else:
            self.selector.register(fd, EVENTS[what])

    def set_timer(self, timeout_ms: int) -> None:
        """Note when curl wants to be called though no socket is ready; -1 means: not at all."""
        self.due_ns = None if timeout_ms < 0 else time.monotonic_ns() + timeout_ms * 1_000_000

    def patience(self) -> float | None:
        """Return how long to wait for sockets, in seconds."""
        return None if self.due_ns is None else max(0.0, (self.due_ns - time.monotonic_ns()) / 1e9)

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Raise KeyboardInterrupt only between calls of curl: pycurl does not pass on what a callback raises."""

        def on_sigint(_signal: int, _frame: FrameType | None) -> None:
            if not self.in_curl:
                raise KeyboardInterrupt
            self.interrupted = True

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, on_sigint)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
        if self.interrupted:
            raise KeyboardInterrupt

    def close(self) -> None:
        self.in_curl = True  # closing a connection calls back too
        for curl in self.transfers:
            curl.close()  # takes it out of the multi handle first, if it is under way
        self.multi.close()
        self.selector.close()


class TimedLoop(Loop):
    """The loop with one more timer, by which its lag is measured."""

    def __init__(self, job: Job, frontier: Frontier, timer: Timer) -> None:
        super().__init__(job, frontier)
        self.timer = timer

    def patience(self) -> float:
        """Fire the timer if it is due, and wait no longer than until it is."""
        now = time.perf_counter_ns()
        left, curls = max(0, self.timer.fire(now) - now) / 1e9, super().patience()
        return left if curls is None else min(left, curls)


class Transfer:
    """One easy handle, used for one fetch after another, and what curl has written of the response."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.fetch: Fetch
        self.header_lines: list[bytes] = []
        self.header_bytes = 0
        self.pieces: list[bytes] = []
        self.body_bytes = 0
        self.curl = curl = pycurl.Curl()
        for option, value in self.options().items():
            curl.setopt(option, value)

    def options(self) -> dict[int, Any]:
        """Return the settings of all transfers; curl neither follows redirects nor decodes unless told to."""
        per_fetch = self.job.connection == "per-fetch"
        return {
            pycurl.HTTP_VERSION: pycurl.CURL_HTTP_VERSION_1_1,
            pycurl.HTTPHEADER: [f"{name}: {value}" for name, value in request_headers(self.job).items()],
            pycurl.TIMEOUT_MS: max(1, self.job.timeout_ns // 1_000_000),
            pycurl.CONNECTTIMEOUT_MS: max(1, self.job.timeout_ns // 1_000_000),  # instead of 300 s
            pycurl.NOSIGNAL: 1,  # no SIGALRM for name look-ups
            pycurl.PROXY: "",  # whatever the environment says
            pycurl.PATH_AS_IS: 1,
            **find_cas(self.job),
            pycurl.FORBID_REUSE: per_fetch,
            pycurl.FRESH_CONNECT: per_fetch,
            pycurl.HEADERFUNCTION: self.take_header,
            pycurl.WRITEFUNCTION: self.take_body,
        }

    def begin(self, fetch: Fetch) -> None:
        self.fetch = fetch
        self.header_lines.clear()
        self.pieces.clear()
        self.header_bytes = self.body_bytes = 0
        self.curl.setopt(pycurl.URL, fetch.url)

    def take_header(self, line: bytes) -> int | None:
        """Take one line of a header section; -1 ends the transfer."""
        if line.startswith(b"HTTP/"):  # the response itself, perhaps behind interim ones
            self.header_lines.clear()
        self.header_bytes += len(line)
        if self.header_bytes > self.job.max_header_bytes + 4:
            return -1
        self.header_lines.append(line)
        return None

    def take_body(self, piece: bytes) -> int | None:
        self.body_bytes += len(piece)
        if self.body_bytes > self.job.max_body_bytes:
            return -1
        self.pieces.append(piece)
        return None

    def response(self) -> Response:
        location = self.field(b"location:")
        return make_response(
            self.curl.getinfo(pycurl.RESPONSE_CODE),
            self.field(b"content-type:"),
            None if location is None else location.decode("utf-8", "surrogateescape"),
            b"".join(self.pieces),
            keep_alive=True,
        )

    def field(self, name: bytes) -> bytes | None:
        """Return the value of a header field, the first if there are several. Curl's own accessors decode it."""
        for line in self.header_lines:
            if line[: len(name)].lower() == name:
                return line[len(name) :].strip()
        return None

    def failure(self, number: int, message: str) -> OSError | ProtocolError:
        """Return what an error of curl means: what the system said, if it said anything."""
        if number in FAILURES:
            return FAILURES[number](message)
        if system_number := self.curl.getinfo(pycurl.OS_ERRNO):
            return OSError(system_number, message)
        if number == pycurl.E_SEND_ERROR:  # five kept connections in a row were gone, and curl tries no more of them
            return ClosedEarlyError(message)
        return tls_failure(number, message) if self.job.is_https else ProtocolError(message)


def find_cas(job: Job) -> dict[int, str]:
    """Return the settings of whom a crawl of https trusts. A libcurl with an OpenSSL of its own has no usual CAs."""
    if not job.is_https:
        return {}
    if job.ca is not None:
        return {pycurl.CAINFO: job.ca}
    import ssl

    paths = ssl.get_default_verify_paths()
    return {option: path for option, path in ((pycurl.CAINFO, paths.cafile), (pycurl.CAPATH, paths.capath)) if path}


def tls_failure(number: int, message: str) -> OSError | ProtocolError:
    """Return what an error means that only a crawl of https has; for one of curl's numbers, only the words differ."""
    import ssl

    if "unexpected eof" in message:
        return ClosedEarlyError(message)
    if number == pycurl.E_PEER_FAILED_VERIFICATION:
        return ssl.SSLCertVerificationError(message)
    if number in {pycurl.E_SSL_CONNECT_ERROR, pycurl.E_SSL_CACERT_BADFILE}:
        return ssl.SSLError(message)
    return ProtocolError(message)
