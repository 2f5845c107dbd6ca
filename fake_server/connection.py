"""One client connection: read requests, and answer them in order, one after the other."""

import asyncio
import socket
import struct
import time
from collections import deque
from typing import TYPE_CHECKING, cast

from inflight.fake_server.requests import MAX_BODY_BYTES, SHARED_BYTES, Job, RequestReader, Wanted
from inflight.fake_server.responses import Answer

if TYPE_CHECKING:
    from inflight.fake_server.gate import Gate
    from inflight.fake_server.server import Server

_PIPELINED = 100  # plus one read. While a connection is not read, it does not notice that the client left
_AT_ONCE = 8  # pipelined requests that are answered before other clients have their turn
_MAX_DISCARDED_BYTES = MAX_BODY_BYTES  # sent by a client after it was refused
_RECORD_BYTES = 16 * 1024  # the largest record of TLS (RFC 8446, section 5.1)
_LINGER_0 = struct.pack("ii", 1, 0)  # close() then sends RST and discards what is unsent


class _LostTransport(asyncio.Transport):
    """Stands for the transport of a connection that is lost.

    Over TLS the connection, its transport and uvloop's SSL protocol refer to each other, with 24 kB of OpenSSL that
    only a full garbage collection would free; this process hardly ever has one (``server.prepare_process``).
    """

    def is_closing(self) -> bool:
        """Return True."""
        return True


_LOST = _LostTransport()


class Connection(asyncio.BufferedProtocol):
    """`job` is the request being answered (None: idle); `backlog` holds what the client pipelined after it.

    A client that closes, or only shuts down its sending side, has gone: its requests are dropped.
    """

    __slots__ = (
        "_discarded_bytes",
        "_paused",
        "_queued",
        "backlog",
        "blocked",
        "gate",
        "job",
        "piece",
        "reader",
        "seen",
        "server",
        "transport",
        "warm",
        "watched",
    )

    transport: asyncio.Transport
    watched: "set[Connection]"  # the server's own: whom its sweep looks at together with this one

    def __init__(self, server: "Server", gate: "Gate") -> None:
        self.server = server
        self.gate = gate
        self.job: Job | None = None
        self.backlog: deque[Job | Wanted] = deque()
        self.piece = 0  # of job.answer.later, the next to send
        self.reader = RequestReader(gate)
        self.blocked = False  # the client reads slower than we write
        self._paused = False
        self._queued = False  # the backlog goes on in the next turn of the loop
        self._discarded_bytes = 0
        self.warm = False  # a response was delayed and sent
        self.seen = server.tick  # when a request last began, or a response was sent and read

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the client."""
        self.transport = cast("asyncio.Transport", transport)
        # Without TLS no buffer: a write goes to the socket at once, and pause_writing comes when one does not fit.
        # What is encrypted passes through a buffer, which would never be empty enough.
        # (uvloop switches TCP_NODELAY on by itself.)
        self.transport.set_write_buffer_limits(high=0 if self.gate.context is None else _RECORD_BYTES)
        self.server.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Unregister the client and drop its requests."""
        counters = self.server.counters
        counters.in_flight -= len(self.backlog) + (self.job is not None)
        self.job = None
        self.backlog.clear()
        self.reader.forget()
        self.server.closed(self)
        self.transport = _LOST

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        """Return the buffer that all connections share: what is read is parsed at once."""
        return self.server.buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Parse and count the received requests, and answer those that are due."""
        reader = self.reader
        if reader.refused:
            self._discard(nbytes)
            return
        server = self.server
        jobs = reader.feed(server.buffer[:nbytes])
        if not jobs:
            if reader.begun:  # more bytes of a request that has begun are no sign of life: it has to become whole
                self.seen = server.tick
            return
        self.seen = server.tick
        counters = server.counters
        counters.requests += len(jobs)
        self.gate.requests += len(jobs)
        in_flight = counters.in_flight = counters.in_flight + len(jobs)
        if in_flight > counters.peak_in_flight:
            counters.peak_in_flight, counters.peak_at_ns = in_flight, time.monotonic_ns()
        if self.job is None and len(jobs) == 1 and not self.backlog and not self.blocked:  # nearly always
            self._start(jobs[0])
        else:
            self.backlog.extend(jobs)
            self._go_on()

    def _discard(self, size_bytes: int) -> None:
        """Discard input, so that a refused client can read why, up to a maximum of bytes."""
        self._discarded_bytes += size_bytes
        if self._discarded_bytes > _MAX_DISCARDED_BYTES:
            self.hang_up()

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
        """Start the next requests until one has to wait; continue reading unless the backlog is too long.

        After a few requests other clients have their turn, so a client that pipelines thousands delays nobody else.
        """
        if not self._queued:
            for _ in range(_AT_ONCE):
                if not self._may_start():
                    break
                self._start(self.backlog.popleft())
            if self._may_start():
                self._queued = True
                self.server.loop.call_soon(self._next_turn)
        if self.transport.is_closing():
            return
        full = self.blocked or len(self.backlog) > _PIPELINED
        if full and not self._paused:
            self.transport.pause_reading()
        elif self._paused and not full:
            self.transport.resume_reading()
        self._paused = full

    def _may_start(self) -> bool:
        return bool(self.backlog) and self.job is None and not self.blocked and not self.transport.is_closing()

    def _next_turn(self) -> None:
        self._queued = False
        self._go_on()

    def _start(self, asked: Job | Wanted) -> None:
        job = self.server.job(asked, self.gate.jobs) if isinstance(asked, Wanted) else asked
        answer = job.answer
        if answer.delay_ns:
            self.job = job
            self.server.timers.after(answer.delay_ns, self)
        elif job.plain and not self.gate.holding:
            self._send_plain(answer)
        else:
            self.job = job
            self._delay_over()

    def due(self, due_ns: int) -> None:
        """Continue after a wait: the delay of the page, or the pause between two pieces of a body."""
        job, server = self.job, self.server
        if job is None:
            return  # the client has gone
        self.seen = server.tick
        if self.piece:
            self._send_piece(job.answer)
        elif job.plain and not self.gate.holding:
            self._send_plain(job.answer)
            self._record_lateness(job, due_ns)
        else:
            self._delay_over()
            self._record_lateness(job, due_ns)
        if self.backlog:
            self._go_on()

    def _record_lateness(self, job: Job, due_ns: int) -> None:
        """Count the first response on a kept connection separately: it waits for a burst of connects."""
        late_ns = time.monotonic_ns() - due_ns
        if self.warm or job.connection == "close":
            self.server.counters.lateness.record(late_ns)
        else:
            self.warm = True
            self.server.counters.first_lateness.record(late_ns)

    def _delay_over(self) -> None:
        if self.gate.holding:
            self.gate.held[self] = None
        else:
            self._answer()

    def released(self) -> None:
        """Answer now and continue: the gate is open again."""
        self.seen = self.server.tick
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
            self._write(self.server.opening(answer.status, self._connection_header()), tail)
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

    def _write(self, *parts: bytes) -> None:
        size_bytes = sum(map(len, parts))
        self.server.counters.bytes_sent += size_bytes
        if size_bytes < SHARED_BYTES:
            self.transport.write(b"".join(parts))
        else:
            self.transport.writelines(parts)

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
                if self.transport.can_write_eof():
                    self.transport.write_eof()
                else:  # TLS: it says that this was the last one, and waits for the client to close
                    self.transport.close()

    def _ending(self, answer: Answer) -> str:
        assert self.job is not None
        if self.job.refused:
            return "linger"
        return "close" if self.job.connection == "close" and answer.ending == "keep" else answer.ending

    def _drop_backlog(self) -> None:
        self.server.counters.in_flight -= len(self.backlog)
        self.backlog.clear()

    def pause_writing(self) -> None:
        """Stop reading from a client that does not read."""
        self.blocked = True
        self._go_on()

    def resume_writing(self) -> None:
        """Continue with a client that has read everything."""
        self.blocked = False
        self.seen = self.server.tick
        self._go_on()

    def idle_since(self) -> int | None:
        """Return the tick of the last activity, or None while the client waits for the server."""
        return None if self.job is not None else self.seen

    def hang_up(self) -> None:
        """Close a client that was idle for too long, even if it reads nothing."""
        if self.blocked:
            self.transport.abort()
        else:
            self.transport.close()
