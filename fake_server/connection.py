"""One client: read requests, answer them in order, one after the other."""

import asyncio
import socket
import struct
import time
from collections import deque
from typing import TYPE_CHECKING, cast

from fake_server.requests import Job, RequestReader
from fake_server.responses import Answer

if TYPE_CHECKING:
    from fake_server.server import Server

_PIPELINED = 100  # and one read more. A connection that is not read does not notice either that the client left
_LINGER_0 = struct.pack("ii", 1, 0)  # close() then sends RST and discards what is unsent


class Connection(asyncio.Protocol):
    """`job` is the request being answered (None: idle); `backlog` holds what the client pipelined after it.

    A client that closes, or only shuts down its sending side, has gone: what it waited for is dropped.
    """

    __slots__ = (
        "_paused",
        "backlog",
        "blocked",
        "job",
        "piece",
        "reader",
        "seen",
        "server",
        "transport",
        "warm",
    )

    transport: asyncio.Transport

    def __init__(self, server: "Server") -> None:
        self.server = server
        self.job: Job | None = None
        self.backlog: deque[Job] = deque()
        self.piece = 0  # of job.answer.later, the next to send
        self.reader = RequestReader(server)
        self.blocked = False  # the client reads slower than we write
        self._paused = False
        self.warm = False  # a response was delayed and sent
        self.seen = server.tick  # when the client last sent something

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the client in."""
        self.transport = cast("asyncio.Transport", transport)
        # No buffer: a write goes to the socket at once, and pause_writing comes as soon as one does not fit.
        # (uvloop switches TCP_NODELAY on by itself.)
        self.transport.set_write_buffer_limits(high=0)
        self.server.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Count the client out, and all it still waited for."""
        counters = self.server.counters
        counters.in_flight -= len(self.backlog) + (self.job is not None)
        self.job = None
        self.backlog.clear()
        self.reader.forget()
        self.server.closed(self)

    def data_received(self, data: bytes) -> None:
        """Parse, count what was received, and answer what may be answered now."""
        reader = self.reader
        if reader.refused:
            return  # whatever it still sends is no sign of life
        server = self.server
        self.seen = server.tick
        jobs = reader.feed(data)
        if not jobs:
            return
        counters = server.counters
        counters.requests += len(jobs)
        in_flight = counters.in_flight = counters.in_flight + len(jobs)
        if in_flight > counters.peak_in_flight:  # noqa: PLR1730 (max() would be a call more)
            counters.peak_in_flight = in_flight
        if self.job is None and len(jobs) == 1 and not self.backlog and not self.blocked:  # nearly always
            self._start(jobs[0])
        else:
            self.backlog.extend(jobs)
            self._go_on()

    def _send_plain(self, answer: Answer) -> None:
        server = self.server
        counters = server.counters
        counters.statuses[answer.status] += 1
        response = server.openings[answer.status] + answer.tail
        counters.bytes_sent += len(response)
        self.transport.write(response)
        self.job = None
        counters.in_flight -= 1

    def _go_on(self) -> None:
        """Start what is next, until something has to wait; read on unless too much is left."""
        while self.backlog and self.job is None and not self.blocked:
            self._start(self.backlog.popleft())
        if self.transport.is_closing():
            return
        full = self.blocked or len(self.backlog) > _PIPELINED
        if full and not self._paused:
            self.transport.pause_reading()
        elif self._paused and not full:
            self.transport.resume_reading()
        self._paused = full

    def _start(self, job: Job) -> None:
        answer = job.answer
        if answer.delay_ns:
            self.job = job
            self.server.timers.after(answer.delay_ns, self)
        elif job.plain and not self.server.holding:
            self._send_plain(answer)
        else:
            self.job = job
            self._delay_over()

    def due(self, due_ns: int) -> None:
        """Go on after a wait: the page's delay, or the pause between two pieces of a body."""
        job, server = self.job, self.server
        if job is None:
            return  # the client has gone
        if self.piece:
            self._send_piece(job.answer)
        elif job.plain and not server.holding:
            self._send_plain(job.answer)
            self._record_lateness(job, due_ns)
        else:
            self._delay_over()
            self._record_lateness(job, due_ns)
        if self.backlog:
            self._go_on()

    def _record_lateness(self, job: Job, due_ns: int) -> None:
        """Count the first response of a kept connection apart: it waits for a burst of clients to connect."""
        late_ns = time.monotonic_ns() - due_ns
        if self.warm or job.connection == "close":
            self.server.counters.lateness.record(late_ns)
        else:
            self.warm = True
            self.server.counters.first_lateness.record(late_ns)

    def _delay_over(self) -> None:
        if self.server.holding:
            self.server.held[self] = None
        else:
            self._answer()

    def released(self) -> None:
        """Answer now, and go on: the gate is open again."""
        self._answer()
        self._go_on()

    def _answer(self) -> None:
        assert self.job is not None
        answer, counters = self.job.answer, self.server.counters
        if answer.fault is not None:
            counters.faults[answer.fault] += 1
        if answer.status:
            counters.statuses[answer.status] += 1
            tail = answer.tail[: answer.head_bytes] if self.job.head_only else answer.tail
            self._write(self.server.opening(answer.status, self._connection_header()) + tail)
        if answer.later and not self.job.head_only:
            self.piece = 1
            self.server.timers.after(answer.later[0][0], self)
        else:
            self._finish(answer)

    def _send_piece(self, answer: Answer) -> None:
        self._write(answer.later[self.piece - 1][1])
        if self.piece < len(answer.later):
            self.server.timers.after(answer.later[self.piece][0], self)
            self.piece += 1
        else:
            self._finish(answer)

    def _write(self, data: bytes) -> None:
        if data:
            self.server.counters.bytes_sent += len(data)
            self.transport.write(data)

    def _connection_header(self) -> str:
        assert self.job is not None
        return self.job.connection or ("close" if self.job.answer.ending == "close" else "")

    def _finish(self, answer: Answer) -> None:
        ending = self._ending(answer)
        self.server.counters.in_flight -= 1
        self.job = None
        self.piece = 0
        match ending:
            case "close":
                self._drop_backlog()
                self.transport.close()
            case "reset":
                self._drop_backlog()
                sock = self.transport.get_extra_info("socket")
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_0)
                self.transport.abort()
            case "linger":
                # Closing with unread input makes the kernel send RST, which may discard the answer on its
                # way: so only say that this was the last one, and let the client close (or the idle sweep).
                self.transport.write_eof()

    def _ending(self, answer: Answer) -> str:
        assert self.job is not None
        if self.job.refused:
            return "linger"
        return "close" if self.job.connection == "close" and answer.ending == "keep" else answer.ending

    def _drop_backlog(self) -> None:
        self.server.counters.in_flight -= len(self.backlog)
        self.backlog.clear()

    def pause_writing(self) -> None:
        """Read no more from a client that does not read."""
        self.blocked = True
        self._go_on()

    def resume_writing(self) -> None:
        """Go on with a client that has read all."""
        self.blocked = False
        self._go_on()

    def idle_since(self) -> int | None:
        """Return the tick of the last sign of life, or None while the client rightly waits for us."""
        return None if self.job is not None else self.seen

    def hang_up(self) -> None:
        """Close a client that has been silent for too long, even one that reads nothing."""
        if self.blocked:
            self.transport.abort()
        else:
            self.transport.close()
