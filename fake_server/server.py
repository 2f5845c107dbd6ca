"""The server: a site, a cache of rendered answers, a gate, and the sockets."""

import asyncio
import errno
import gc
import resource
import socket
import ssl
import sys
import time
from collections.abc import Sequence
from email.utils import formatdate
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

from inflight.fake_server.config import CERTIFICATES
from inflight.fake_server.connection import Connection
from inflight.fake_server.counters import Counters
from inflight.fake_server.endless import EndlessPages
from inflight.fake_server.gate import Gate, Jobs
from inflight.fake_server.requests import Job, Wanted
from inflight.fake_server.responses import NOT_FOUND, Answer, for_http10, opening, page_answer
from inflight.fake_server.site import REDIRECT_STATUSES, Site, SiteConfig
from inflight.fake_server.timers import Timers

CACHE_BYTES = 256 * 1024 * 1024
_WISHED_BACKLOG = 16_384  # maximum number of connections that wait for accept, over all listening sockets
_SWEEPS = 4  # per idle timeout
_LOOKED_AT_AT_ONCE = 256
# One read takes so much. A client may send more, but nothing more is parsed before others have had their turn.
_READ_BYTES = 4096
_INSTANT_STATUSES = (200, 404, 405, *REDIRECT_STATUSES)


class BusyError(Exception):
    """The site cannot change while requests are in flight: let them finish, or release the gate."""


class NoPortError(Exception):
    """No port can be listened at; the message says why, and what to do."""


class Server:
    """State that the connections share. Its attributes are read and written on the hot path."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        config: SiteConfig,
        idle_timeout_s: float = 60.0,
        certificate: str = "right",
    ) -> None:
        self.loop = loop
        self._certificate = certificate
        self.counters = Counters()
        self.timers = Timers(loop)
        self.gates: dict[int, Gate] = {}  # by port
        self.buffer = memoryview(bytearray(_READ_BYTES))
        self.tick = 0
        # Whom the sweep looks at at which tick: nobody twice in an idle timeout, however many there are.
        self._watched: list[set[Connection]] = [set() for _ in range(_SWEEPS + 2)]
        self._sweep_every_s = idle_timeout_s / _SWEEPS
        self._listening: list[asyncio.Server] = []
        self._moves = 0
        self._new_second()
        self._sweep()
        self._set_site(config)

    # What is served

    def _set_site(self, config: SiteConfig) -> None:
        self.site = Site(config)
        self.jobs: dict[bytes, Job] = {}  # by request target: what is cached
        self.cached_bytes = 0
        self._last_pages: EndlessPages | None = None
        self.pages: Jobs = EndlessPages(self.site) if config.endless else self.jobs
        for gate in self.gates.values():
            gate.jobs = self.pages

    def configure(self, config: SiteConfig) -> None:
        """Switch to another site. Raises BusyError while requests are in flight."""
        if self.counters.in_flight:
            raise BusyError(f"{self.counters.in_flight} requests are in flight: the site cannot change now")
        self._set_site(config)
        self._second.cancel()
        self._new_second()

    def job(self, wanted: Wanted, jobs: Jobs) -> Job:
        """Return the job for a request that passed a gate; its page is rendered now if it is not cached."""
        return Job(self._find(wanted.target, wanted.version, jobs), wanted.head_only, wanted.connection)

    def _find(self, target: bytes, version: str, jobs: Jobs) -> Answer:
        """Return the answer for a request target, from the cache if possible."""
        job = jobs.get(target)
        if job is not None and (version != "1.0" or job.answer.fault is None):
            return job.answer
        n = self.site.number(_path(target))
        if n is None:
            return NOT_FOUND
        answer = self._render(n)
        return for_http10(answer, *self.site.render(n)) if version == "1.0" else answer

    def _render(self, n: int) -> Answer:
        """Render a page and keep it while the cache has room.

        Nothing is ever evicted: crawls ask for every page in turn, and on such a cycle a cache that evicts
        the oldest never hits, while one that keeps what it has always hits on that share.
        """
        page, body = self.site.render(n)
        answer = page_answer(page, body, self.site.config.drip_ns)
        if self.cached_bytes + answer.size_bytes <= CACHE_BYTES:
            key = page.path.encode()
            if key not in self.jobs:
                self.cached_bytes += answer.size_bytes
                self.jobs[key] = Job(answer)
        return answer

    def warm(self) -> None:
        """Render the pages in order of number until the cache is full; those of an endless site are rendered."""
        if self.site.config.endless:
            return
        for n in range(self.site.config.pages):
            key = self.site.url_path(n).encode()
            if key not in self.jobs:
                self._render(n)
                if key not in self.jobs:
                    return

    # The time of day

    def opening(self, status: int, connection: str) -> bytes:
        """Return the first lines of a response, with the date of this second."""
        key = (status, connection)
        lines = self._openings.get(key)
        if lines is None:
            lines = self._openings[key] = opening(status, self._date, connection)
        return lines

    def fix_date(self) -> None:
        """Leave the date as it is until ``configure``: a client may remember headers, and each new date is work."""
        self._second.cancel()

    def _new_second(self) -> None:
        now_s = time.time()
        self._date = formatdate(now_s, usegmt=True)
        self._openings: dict[tuple[int, str], bytes] = {}
        self.openings = {status: opening(status, self._date) for status in _INSTANT_STATUSES}
        self._second = self.loop.call_later(1.001 - now_s % 1, self._new_second)

    # Clients

    def opened(self, connection: Connection) -> None:
        """Register a client."""
        self._watch(connection, self.tick)
        counters = self.counters
        counters.total_connections += 1
        counters.connections += 1
        counters.peak_connections = max(counters.peak_connections, counters.connections)

    def closed(self, connection: Connection) -> None:
        """Unregister a client."""
        connection.watched.discard(connection)
        connection.gate.held.pop(connection, None)
        self.counters.connections -= 1

    def _watch(self, connection: Connection, since: int) -> None:
        """Look at a client again when it could have been silent for the idle timeout, counted from tick ``since``."""
        connection.watched = self._watched[(since + _SWEEPS + 1) % len(self._watched)]
        connection.watched.add(connection)

    def _sweep(self) -> None:
        """Close the clients that have been silent for the idle timeout, give or take one sweep."""
        self.tick += 1
        self._sweeper = self.loop.call_later(self._sweep_every_s, self._sweep)
        self._look()

    def _look(self) -> None:
        """Look at those whose time may have come, a few hundred in each turn of the loop."""
        watched = self._watched[self.tick % len(self._watched)]
        for _ in range(min(_LOOKED_AT_AT_ONCE, len(watched))):
            connection = watched.pop()
            since = connection.idle_since()
            if since is None:
                since = self.tick
            elif self.tick - since > _SWEEPS:
                connection.hang_up()
                since = self.tick
            self._watch(connection, since)
        if watched:
            self.loop.call_soon(self._look)

    # The gates

    def hold(self) -> None:
        """Shut every gate."""
        for gate in self._own_gates():
            gate.hold()

    def release(self, keep: int = 0) -> None:
        """Open every gate; with ``keep``, each gate keeps that many of its last requests and stays shut."""
        for gate in self._own_gates():
            gate.release(keep)

    def _own_gates(self) -> list[Gate]:
        """Return each gate once: ports may share one."""
        return list(dict.fromkeys(self.gates.values()))

    def gate(self, port: int) -> Gate:
        """Return the gate of a port. Raises ValueError for an unknown port."""
        if port not in self.gates:
            raise ValueError(f"no gate at port {port}; known: {', '.join(map(str, self.gates))}")
        return self.gates[port]

    def pass_on(self, port: int | None, over_ns: int) -> dict[str, Any]:
        """Shut every gate except that of a port, open this one, and return the readings from just before."""
        chosen = None if port is None else self.gate(port)
        readings = self.readings()
        for gate in self._own_gates():
            if gate is not chosen:
                gate.hold()
        if chosen is not None:
            chosen.release_over(over_ns)
        return readings

    def readings(self) -> dict[str, Any]:
        """Return the counters of each gate, the CPU time of this process and the clock, all at one moment."""
        return {
            "clock_ns": time.monotonic_ns(),
            "server_cpu_ns": time.process_time_ns(),
            "gates": {str(port): gate.reading() for port, gate in self.gates.items()},
        }

    def run_out(self) -> None:
        """Serve pages without links from now on, so that endless crawls end."""
        for gate in self._own_gates():
            gate.jobs = self.last_pages()

    def last_pages(self) -> EndlessPages:
        """Return the pages of the endless site without links. Raises ValueError if the site is not endless."""
        if not self.site.config.endless:
            raise ValueError("the site is not endless")
        if self._last_pages is None:
            self._last_pages = EndlessPages(self.site, stop=True)
        return self._last_pages

    def stats(self) -> dict[str, Any]:
        """Return the stats of the control port."""
        return self.counters.stats() | {
            "held": any(gate.holding for gate in self.gates.values()),
            "cached_pages": len(self.jobs),
            "cached_bytes": self.cached_bytes,
        }

    # Sockets

    async def listen(self, host: str, port: int, count: int = 1, *, tls: bool = False) -> list[int]:
        """Accept clients at ``port`` and at ``count`` - 1 free ones; return them. Raises OSError when one is taken.

        With ``tls`` they are ports of https.

        More than a few thousand clients connect faster to several ports. The kernel searches for a free client port
        separately for each target address and port, one port after another, and takes longer the more are in use.
        """
        self._host, self._count = host, count
        sockets = [bind(host, port), *(bind(host, 0) for _ in range(count - 1))]
        self._set_gates(_ports(sockets), [tls])
        await self._accept_from(sockets, list(self.gates.values()), self._moves)
        return list(self.gates)

    def move(self, gates: Sequence[bool] = (), *, tls: bool = False) -> list[int]:
        """Listen at as many new ports instead of the old ones, and return them; clients stay connected.

        With ``tls`` they are ports of https. With ``gates``, listen at that number of ports instead, each with its own
        gate; the value says whether it is one of https.
        """
        try:
            sockets = [bind(self._host, 0) for _ in range(len(gates) or self._count)]
        except OSError as error:
            is_range = error.errno in {errno.EADDRINUSE, errno.EADDRNOTAVAIL}
            remedy = "widen net.ipv4.ip_local_port_range, or wait a minute" if is_range else "raise it (ulimit -a)"
            raise NoPortError(f"no port to listen at, {error.strerror}: {remedy}") from error
        for sock in chain.from_iterable(sockets):
            sock.listen(somaxconn())  # at once: the loop comes to accept later, and the kernel queues until then
        for listening in self._listening:
            listening.close()
        self._listening.clear()
        self._moves += 1
        self._set_gates(_ports(sockets), gates or [tls])
        self._moving = self.loop.create_task(self._accept_from(sockets, list(self.gates.values()), self._moves))
        return list(self.gates)

    def _set_gates(self, ports: Sequence[int], are_tls: Sequence[bool]) -> None:
        """Put gates behind new ports: one behind each, or a single one behind all."""
        contexts = [tls_context(self._certificate) if is_tls else None for is_tls in are_tls]
        gates = [Gate(self.pages, self.loop, self.timers, context) for context in contexts]
        if len(gates) == 1:
            gates *= len(ports)
        self.gates = dict(zip(ports, gates, strict=True))

    async def _accept_from(self, sockets: Sequence[Sequence[socket.socket]], gates: Sequence[Gate], move: int) -> None:
        """Accept clients, each group of sockets before its gate, unless the server has moved on meanwhile."""
        for gate, group in zip(gates, sockets, strict=True):
            connection = partial(Connection, self, gate)
            for sock in group:
                listening = await self.loop.create_server(connection, sock=sock, backlog=somaxconn(), ssl=gate.context)
                if move == self._moves:
                    self._listening.append(listening)
                else:
                    listening.close()

    def close(self) -> None:
        """Stop listening and drop all clients."""
        for listening in self._listening:
            listening.close()
        self._second.cancel()
        self._sweeper.cancel()
        for connection in list(chain.from_iterable(self._watched)):
            connection.transport.abort()
        self.timers.close()


@cache
def tls_context(name: str) -> ssl.SSLContext:
    """Return the context of all sockets with one of the certificates of this folder.

    It gives no session tickets: some clients resume sessions with them and others cannot, and they cost both sides.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / f"{name}.pem")
    context.set_alpn_protocols(["http/1.1"])
    context.num_tickets = 0
    return context


def _path(target: bytes) -> str:
    """Return the path of a request target, which may be a whole URL (RFC 9112, 3.2.2)."""
    text = target.decode("latin-1")
    if text[:7].lower() == "http://":
        _, slash, rest = text[7:].partition("/")
        return slash + rest or "/"
    return text


def _ports(sockets: Sequence[Sequence[socket.socket]]) -> list[int]:
    """Return the port that each group of sockets shares."""
    return [group[0].getsockname()[1] for group in sockets]


def bind(host: str, port: int) -> list[socket.socket]:
    """Return listening sockets for one address, whose accept queues together hold 16,384 clients.

    The kernel limits each queue to net.core.somaxconn, and 10,000 clients that connect at once overflow a queue of
    4,096. On Linux several sockets can share a port, each with its own queue. SO_REUSEPORT is set after the first
    bind, so that a port in use by another program is still refused.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    first = _bound(family, (host, port))
    if sys.platform != "linux":
        return [first]
    first.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    more = min(16, -(-_WISHED_BACKLOG // somaxconn())) - 1
    return [first, *(_bound(family, first.getsockname(), reuse_port=True) for _ in range(more))]


def _bound(family: int, address: Any, *, reuse_port: bool = False) -> socket.socket:
    sock = socket.socket(family)
    sock.setblocking(False)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if reuse_port:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        sock.bind(address)
    except OSError:
        sock.close()
        raise
    return sock


def somaxconn() -> int:
    """Return the longest accept queue that the kernel grants one socket."""
    try:
        return int(Path("/proc/sys/net/core/somaxconn").read_text(encoding="ascii"))
    except OSError:
        return socket.SOMAXCONN


def prepare_process() -> None:
    """Raise the limit of descriptors to the maximum, and make garbage collections rare."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 10_240), hard))  # macOS grants no "unlimited"
    # Reference counts free the connections; a full collection over 10,000 of them takes milliseconds.
    gc.freeze()
    gc.set_threshold(100_000, 50, 1000)
