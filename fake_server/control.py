"""The control port for the runner: JSON lines over TCP on 127.0.0.1, one object per command and per answer.

The first line of a connection is the secret of this server, without JSON; the answer is {"ok": true}. After any other
line the connection is closed: every user of this machine can connect to the port. The secret comes with the environment
(``config.CONTROL_SECRET``), which other users cannot read, as they can a command line. The commands are:

    {"do": "configure", "site": {...}}  serve another site (keys of SiteConfig; others keep their defaults)
    {"do": "stats"}                     the counts since start or reset
    {"do": "reset"}                     zero the counts; peaks start again from what is open and in flight
    {"do": "hold"}                      every response waits, after its delay
    {"do": "release"}                   answer what was held, and hold nothing any more
    {"do": "release", "keep": 1}        answer all but the last "keep" requests; the gate stays shut
    {"do": "warm"}                      render pages in order of number until the cache is full
    {"do": "move"}                      listen at new ports instead of the old ones
    {"do": "move", "tls": true}         the same, with ports of https
    {"do": "move", "gates": [false, true]}
                                        the same with 2 ports, each with its own gate; the second one is of https
    {"do": "pass", "port": 1, "over_ns": 3}
                                        shut all gates except that of port 1, and open this one: its requests
                                        are answered evenly over the time; "port": null opens none
    {"do": "read"}                      read the gates, as pass does before its change
    {"do": "late"}                      count responses by their lateness
    {"do": "fix_date"}                  send the present Date in all responses, until the next configure
    {"do": "run_out"}                   remove the links of an endless site, so that crawls end
    {"do": "stop"}                      close everything and exit 0

Every answer has "ok"; most are {"ok": true}. move answers {"ok": true, "port": 40000, "ports": [40000]}. pass and read
answer, as of one moment, with clock_ns (monotonic clock), server_cpu_ns (CPU time of this process) and "gates". These
are by port, with requests (received) and held (waiting behind the gate). late answers {"ok": true, "late": {"90000":
12}}: 12 responses with a delay were sent at most 90,000 ns, and more than 80,000 ns, after they were due; first
responses on kept connections do not count. stats answers {"ok": true, "stats": {...}} with

    requests, in_flight, peak_in_flight          received; received and not answered, held ones included
    peak_at_ns                                   when peak_in_flight was first reached, by clock_ns
    connections, peak_connections, total_connections
    bytes_sent                                   headers included
    responses_by_status                          {"200": 12, ...}
    faults                                       {"drip": 3, ...}: injected, by kind
    lateness_p50_ns, lateness_p90_ns, lateness_p99_ns, lateness_max_ns, lateness_count
                                                 time sent minus time due, of the responses that had a delay
    first_lateness_max_ns, first_lateness_count  the same for the first response on each kept connection,
                                                 which the others leave out: it waits for the burst of connects
    cpu_ns, cpu_user_ns, cpu_system_ns, clock_ns CPU time of this process (the first is exact, the others may
                                                 lag by a tick), and the monotonic clock: a share of a core
                                                 is a difference over a difference; not zeroed by reset
    held                                         whether the gate is shut
    cached_pages, cached_bytes

The answer to anything else, to a configure that is refused (invalid, or requests in flight), and to a move without a
port to listen at, is
{"ok": false, "error": "one sentence"}; the connection stays open. A line that does not begin with "{", or is longer
than 1 MiB, closes it.
"""

import asyncio
import hmac
import json
import os
from collections.abc import Callable
from typing import Any, cast

from inflight.fake_server.config import CONTROL_SECRET
from inflight.fake_server.server import BusyError, NoPortError, Server
from inflight.fake_server.site import SiteConfig

_MAX_LINE_BYTES = 1024 * 1024
_STRANGER = (
    "the first line of a connection must be the secret of this server: "
    f"the value of {CONTROL_SECRET} in the environment in which it was started"
)


class Control:
    """The table of commands, and the secret of those who may give them."""

    def __init__(self, server: Server, stop: Callable[[], None], secret: str) -> None:
        self._server = server
        self._secret = os.fsencode(secret)
        self._commands: dict[str, Callable[[dict[str, Any]], dict[str, Any] | None]] = {
            "configure": self._configure,
            "stats": lambda _: {"stats": server.stats()},
            "reset": lambda _: server.counters.reset(),
            "hold": lambda _: server.hold(),
            "release": self._release,
            "warm": lambda _: server.warm(),
            "move": self._move,
            "pass": self._pass,
            "read": lambda _: server.readings(),
            "late": lambda _: {"late": server.counters.lateness.counts()},
            "fix_date": lambda _: server.fix_date(),
            "run_out": lambda _: server.run_out(),
            "stop": lambda _: stop(),
        }

    def admits(self, line: bytes) -> bool:
        """Whether the first line of a connection is the secret."""
        return hmac.compare_digest(line, self._secret)

    def reply(self, line: bytes) -> bytes:
        """Return the answer to one line as one line."""
        try:
            answer = {"ok": True} | (self._run(line) or {})
        except (ValueError, BusyError, RecursionError, NoPortError) as error:  # bad JSON is a ValueError too
            answer = {"ok": False, "error": str(error)}
        return json.dumps(answer).encode() + b"\n"

    def _run(self, line: bytes) -> dict[str, Any] | None:
        message = json.loads(line)
        if not isinstance(message, dict):
            raise ValueError("a command is a JSON object")  # noqa: TRY004
        command = message.get("do")
        if not isinstance(command, str) or command not in self._commands:
            raise ValueError(f"unknown command {command!r}; known: {', '.join(self._commands)}")
        return self._commands[command](message)

    def _release(self, message: dict[str, Any]) -> None:
        self._server.release(_whole(message, "keep", 0))

    def _move(self, message: dict[str, Any]) -> dict[str, Any]:
        gates, tls = message.get("gates", []), message.get("tls", False)
        if not isinstance(gates, list) or not {type(value) for value in (*gates, tls)} <= {bool}:
            raise ValueError('"gates" must be a list of true and false, and "tls" true or false')
        ports = self._server.move(gates, tls=tls)
        return {"port": ports[0], "ports": ports}

    def _pass(self, message: dict[str, Any]) -> dict[str, Any]:
        port = None if message.get("port") is None else _whole(message, "port")
        return self._server.pass_on(port, _whole(message, "over_ns", 0))

    def _configure(self, message: dict[str, Any]) -> None:
        site = message.get("site")
        if not isinstance(site, dict):
            raise ValueError('configure needs "site", a JSON object')  # noqa: TRY004
        self._server.configure(SiteConfig.from_dict(site))


def _whole(message: dict[str, Any], key: str, default: int | None = None) -> int:
    """Return a whole number of 0 or more from a command. Raises ValueError for any other value."""
    value = message.get(key, default)
    if type(value) is not int or value < 0:
        raise ValueError(f'"{key}" must be a whole number, 0 or more, not {value!r}')
    return value


class ControlConnection(asyncio.Protocol):
    """The connection of one runner."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._is_admitted = False
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Answer all complete lines."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if not self._is_admitted:
                self._is_admitted = self._control.admits(line)
                answer = {"ok": True} if self._is_admitted else {"ok": False, "error": _STRANGER}
                self._transport.write(json.dumps(answer).encode() + b"\n")
                if self._is_admitted:
                    continue
                self._transport.close()
                return
            self._transport.write(self._control.reply(line))
            if not line.startswith(b"{"):  # perhaps HTTP from a web page: ignore all that follows
                self._transport.close()
                return
        if len(self._rest) > _MAX_LINE_BYTES:
            self._transport.close()

    def pause_writing(self) -> None:
        """Stop reading commands while the runner does not read the answers."""
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Read commands again."""
        self._transport.resume_reading()


async def listen(control: Control, loop: asyncio.AbstractEventLoop, port: int) -> tuple[asyncio.Server, int]:
    """Listen on 127.0.0.1; return the listener and its port."""
    listening = await loop.create_server(lambda: ControlConnection(control), "127.0.0.1", port)
    return listening, int(listening.sockets[0].getsockname()[1])
