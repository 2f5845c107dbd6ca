"""The fake server from outside: a process, ports to crawl, and a control port.

A run keeps one server for its trials (``measure.run.ServerKeeper``); a swarm starts one for each share. The harness
steers it by commands in lines of JSON: which site it serves (``configure``), its gates, its counts. A *gate* is the
switch that holds all responses of a port: ``hold`` and ``release`` for all, ``pass`` opens one port alone. A server
that dies or does not answer raises ServerError, and its trial fails.
"""

import contextlib
import json
import secrets
import select
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import compress
from typing import TYPE_CHECKING, Any

from inflight.bench.measure.process import LAST_S, TICK_S, Runtime, TrialError, end, how_it_ended, output, pin, start
from inflight.fake_server.config import CA, CONTROL_SECRET
from inflight.fake_server.site import SiteConfig
from inflight.strategies.base import Job

if TYPE_CHECKING:
    from inflight.bench.rows.kinds import Arm, CrawlWorkload

START_SECONDS = 60
"""Maximum time that a server may take to start, in seconds."""
ANSWER_SECONDS = 60
"""Maximum time of an answer to a command."""
END_SECONDS = 5
"""Maximum time that a server may take to close its connections."""


def counted_between(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """Return the later of two readings of ``Server.stats``, with the CPU time between them, and its share of a core."""
    cpu_ns = after["cpu_ns"] - before["cpu_ns"]
    return after | {"cpu_ns": cpu_ns, "cpu_share": cpu_ns / max(1, after["clock_ns"] - before["clock_ns"])}


class ServerError(TrialError):
    """The fake server did not start, died, or refused a command; the message says which."""


@dataclass
class Server:
    """A running fake server. Use ``running()`` to get one."""

    process: "subprocess.Popen[bytes]"
    ports: list[int]
    control: socket.socket
    tls_ports: frozenset[int] = frozenset()
    """Those of its ports that are of https."""
    ceiling_per_s: float | None = None
    """Maximum responses per second, as measured by ``find_ceiling``; None: not measured."""
    limits: set[int] = field(default_factory=set)
    """Numbers of requests in flight at which clients have turned out to have a limit of their own."""

    @property
    def port(self) -> int:
        """The first port."""
        return self.ports[0]

    @property
    def base(self) -> str:
        """The URL without path, at the first port."""
        return self.bases[0]

    @property
    def bases(self) -> list[str]:
        """The URLs without path, at all ports: clients with thousands of connections spread them over these."""
        return [base_url(port, is_tls=port in self.tls_ports) for port in self.ports]

    def tell(self, command: str, **values: Any) -> dict[str, Any]:
        """Send one command and return the answer. Raises ServerError when it is refused or not answered."""
        self.ask(command, **values)
        return self.answer(command)

    def ask(self, command: str, **values: Any) -> None:
        """Send a command without waiting for the answer. Raises ServerError when the server has ended."""
        try:
            self.control.sendall(json.dumps({"do": command, **values}).encode() + b"\n")
        except OSError as error:
            raise self._lost(error) from error

    def answer(self, command: str) -> dict[str, Any]:
        """Return the answer to the first unanswered command. Raises ServerError when it is refused or not answered."""
        line = bytearray()
        try:
            while not line.endswith(b"\n"):
                data = self.control.recv(65536)
                if not data:
                    raise ServerError(self._obituary())
                line += data
        except OSError as error:
            raise self._lost(error) from error
        answer: dict[str, Any] = json.loads(line)
        if not answer["ok"]:
            raise ServerError(f"the fake server refused {command}: {answer['error']}")
        return answer

    def _lost(self, error: OSError) -> ServerError:
        """Return the error for a server that does not answer, which is killed."""
        obituary = self._obituary()
        if self.alive:  # else the error only says that it ended: a reset if it had not read the command, or none
            obituary += f" ({error})"
        self.process.kill()  # a late answer would be taken for that to the next command
        return ServerError(obituary)

    def configure(self, site: SiteConfig, *, tls: bool = False) -> None:
        """Serve this site from now on, with all pages rendered in advance: the first crawl is like the others."""
        self.clear(tls=tls)
        self.tell("configure", site=site.to_dict())
        self.tell("warm")

    def clear(self, *, tls: bool = False) -> None:
        """Wait until nothing is left of the last trial, and continue at a new port, with ``tls`` one of https.

        A failed trial may leave the gate closed, and requests of a killed worker that the server has not noticed yet. A
        successful one leaves connections that the server has not closed yet. Client ports stay in TIME_WAIT for a
        minute: with the same server port, connects of the next trial would search thousands of ports for a free one,
        and would reuse memory that is already allocated.
        """
        self.tell("release")
        give_up_s = time.monotonic() + ANSWER_SECONDS
        while (stats := self.stats())["in_flight"] + stats["connections"] and time.monotonic() < give_up_s:
            time.sleep(TICK_S)
        self.ports = self.tell("move", tls=tls)["ports"]
        self.tls_ports = frozenset(self.ports) if tls else frozenset()

    def gates(self, are_tls: list[bool]) -> list[int]:
        """Continue at as many new ports, each behind a closed gate of its own, or of https; return the ports."""
        self.ports = self.tell("move", gates=are_tls)["ports"]
        self.tls_ports = frozenset(compress(self.ports, are_tls))
        self.tell("pass", port=None)
        return self.ports

    def stats(self) -> dict[str, Any]:
        """Return the server's counts."""
        stats: dict[str, Any] = self.tell("stats")["stats"]
        return stats

    def find_ceiling(self, client_cpus: set[int] | None) -> None:
        """Measure, with a null client on the client's core, how many responses per second the server can give."""
        code, text = output(["inflight.bench.measure.costs", "server", str(self.port)], client_cpus, START_SECONDS)
        self.ceiling_per_s = json.loads(text)["per_s"] if code == 0 else None

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self.process.poll() is None

    def _obituary(self) -> str:
        """Say how the server ended, or that it does not answer."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(LAST_S)
        code = self.process.returncode
        if code is None:
            return "the fake server does not answer"
        return f"the fake server {how_it_ended(code)}"


def base_url(port: int, *, is_tls: bool) -> str:
    """Return the URL without path at a port of a server."""
    return f"http{'s' if is_tls else ''}://127.0.0.1:{port}"


def job_of(port: int, paths: Iterable[str], crawled: "Arm | CrawlWorkload", **limits: Any) -> Job:
    """Return the job of a worker: from these pages at a port of a server, as a workload or an arm of a block asks.

    ``limits`` are values of the job that follow from neither. A job of https needs the CA of the servers.
    """
    base = base_url(port, is_tls=crawled.tls)
    return Job(
        roots=tuple(base + path for path in paths),
        max_in_flight=crawled.in_flight,
        connection=crawled.connection,
        ca=str(CA) if crawled.tls else None,
        **limits,
    )


def loopback_lack() -> str | None:
    """Describe why a process cannot connect to another one on this machine; None when it can. Nothing is sent."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("127.0.0.1", 9))
    except OSError as error:
        return f"the fake server at 127.0.0.1 cannot be reached: {error.strerror}; enable loopback: ip link set lo up"
    return None


@contextmanager
def running(cpus: set[int] | None, ports: int = 1, answer_s: float = ANSWER_SECONDS) -> Iterator[Server]:
    """Run a fake server at this many ports, pinned to ``cpus`` if given; stop it in the end.

    A server that does not answer a command within ``answer_s`` is lost.
    """
    if lack := loopback_lack():
        raise ServerError(lack)
    options = f"--port 0 --ports {ports} --control-port 0 --exit-with-stdin --ready-line".split()
    secret = secrets.token_hex()
    runtime = Runtime(variables={CONTROL_SECRET: secret})  # a command line can be read by all users
    process = start(["inflight.fake_server", *options], runtime, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        pin(process.pid, cpus)
        listening, control_port = _await_ready(process)
        with socket.create_connection(("127.0.0.1", control_port), START_SECONDS) as control:
            control.settimeout(answer_s)
            control.sendall(f"{secret}\n".encode())
            server = Server(process, listening, control)
            server.answer("its secret")
            yield server
    finally:
        end(process, END_SECONDS)


def _await_ready(process: "subprocess.Popen[bytes]") -> tuple[list[int], int]:
    """Wait until the server says at which ports it listens; return these and the control port.

    Raises ServerError if it ends or does not answer within START_SECONDS.
    """
    assert process.stdout is not None
    # One short line, written at once: when something can be read, all of it can. A swarm has more descriptors than
    # select(2) allows.
    waiting = select.poll()
    waiting.register(process.stdout, select.POLLIN)
    if not waiting.poll(1000 * START_SECONDS):
        raise ServerError(f"the fake server did not start within {START_SECONDS} s")
    line = process.stdout.readline()
    if not line:  # it has printed why
        raise ServerError(f"the fake server did not start: it {how_it_ended(process.wait(LAST_S))}")
    try:
        ready = json.loads(line)
        return ready["ports"], ready["control_port"]
    except (ValueError, KeyError) as error:
        raise ServerError(f"the fake server did not start: it printed {line[:60]!r}") from error
