"""The command line: python -m fake_server --pages 1000 --delay 50ms."""

import argparse
import asyncio
import contextlib
import json
import os
import select
import signal
import sys
import threading
from io import TextIOWrapper
from typing import Any

from fake_server.delays import FORMS, parse_duration_ns
from fake_server.faults import FAULTS
from fake_server.site import SiteConfig

MOST_PORTS = 64


def add_site_options(parser: argparse.ArgumentParser) -> None:
    """Add one option for each field of SiteConfig."""
    default = SiteConfig()
    whole = ("seed", "pages", "links", "body_bytes", "redirect_chain", "redirect_targets")
    shares = ("body_spread", "redirects", "missing", "non_html")
    for name in (*whole, *shares):
        value = getattr(default, name)
        parser.add_argument(_option(name), type=type(value), default=value, help=f"default: {value}", dest=name)
    parser.add_argument("--delay", default=default.delay, help=f"added latency, one of {FORMS}".replace("%", "%%"))
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        help=f"KIND=SHARE of the pages, which then fail at every try; kinds: {', '.join(FAULTS)}",
    )
    parser.add_argument("--drip", default="200ms", help="the time over which a dripped body is spread")


def site_config(options: argparse.Namespace) -> SiteConfig:
    """Return the site that the options describe; raise ValueError when they make none."""
    values = {name: getattr(options, name) for name in SiteConfig().to_dict() if hasattr(options, name)}
    return SiteConfig.from_dict(
        values | {"faults": [_fault(text) for text in options.fault], "drip_ns": parse_duration_ns(options.drip)}
    )


def main(argv: list[str] | None = None, prog: str = "fake_server") -> int:
    """Serve until told to stop; return the exit code: 0, or 2 for options that cannot be served."""
    _open_standard_streams()
    parser = _parser(prog)
    options = parser.parse_args(argv)
    try:
        config = site_config(options)
        idle_timeout_ns = parse_duration_ns(options.idle_timeout)
    except ValueError as error:
        parser.error(str(error))  # exits with 2
    return _run(options, config, idle_timeout_ns)


def program() -> int:
    """Run as a program: losing what is printed is an error, and ends it with 2, unless the reader has gone."""
    if not isinstance(sys.stdout, TextIOWrapper):  # it was closed by whoever started this
        return main()
    sys.stdout.reconfigure(line_buffering=False, write_through=False)  # argparse hides errors when it prints
    try:
        try:
            return main()
        finally:
            sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the interpreter flushes once more
        if isinstance(error, BrokenPipeError):
            return 0
        print(f"cannot write to standard output: {error.strerror}", file=sys.stderr)
        return 2


def ready_line(ports: list[int], control_port: int | None) -> str:
    """Return the line that a runner waits for."""
    return json.dumps({"port": ports[0], "ports": ports, "control_port": control_port, "pid": os.getpid()})


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description="Serve a synthetic site.")
    parser.add_argument("--host", type=_host, default="127.0.0.1")
    parser.add_argument("--port", type=_port, default=8080, help="0 takes any free one; default: 8080")
    parser.add_argument("--ports", type=_count, default=1, help="listen at so many; all but the first are free ones")
    parser.add_argument("--control-port", type=_port, help="listen for a runner too; 0 takes any free one")
    parser.add_argument("--idle-timeout", default="60s", help="close clients that send no whole request for this long")
    parser.add_argument("--exit-with-stdin", action="store_true", help="exit when stdin ends")
    parser.add_argument("--ready-line", action="store_true", help="print one line of JSON when listening")
    add_site_options(parser)
    return parser


def _run(options: argparse.Namespace, config: SiteConfig, idle_timeout_ns: int) -> int:
    # Imported here so that the site alone, and --help, need nothing installed.
    import uvloop

    if options.host not in {"127.0.0.1", "::1", "localhost"}:
        print(
            f"warning: {options.host} may be reached by other machines; this server is for tests",
            file=sys.stderr,
        )
    try:
        loop = uvloop.new_event_loop()
    except OSError as error:
        print(f"cannot start an event loop: {error.strerror or error}", file=sys.stderr)
        return 2
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(_serve(options, config, idle_timeout_ns))


async def _serve(options: argparse.Namespace, config: SiteConfig, idle_timeout_ns: int) -> int:
    from fake_server import control
    from fake_server.server import Server, prepare_process

    prepare_process()
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    server = Server(loop, config, idle_timeout_ns / 1e9)
    listening, control_port = None, None
    try:
        ports = await server.listen(options.host, options.port, options.ports)
        if options.control_port is not None:
            commands = control.Control(server, stopped.set)
            listening, control_port = await control.listen(commands, loop, options.control_port)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopped.set)
        if options.exit_with_stdin:
            _watch_stdin(loop, stopped)
    except OSError as error:
        address = f"{_in_url(options.host)}:{options.port}"
        print(f"cannot listen on {address}: {error.strerror or error}", file=sys.stderr)
        return 2
    else:
        _announce(options, ports, control_port)
        await stopped.wait()
    finally:
        server.close()
        if listening is not None:
            listening.close()
    return 0


def _open_standard_streams() -> None:
    """Put /dev/null in the place of standard streams that are closed, as after ``<&-`` in a shell.

    Otherwise the event loop's own descriptors get their numbers: what reads stdin reads those, and libuv aborts the
    process when it has to close one of them.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one


def _watch_stdin(loop: asyncio.AbstractEventLoop, stopped: asyncio.Event) -> None:
    """Stop when stdin ends, or cannot be read. In a thread, because epoll refuses stdin when it is a file."""

    def wait() -> None:
        # select, because whoever shares stdin with us may have made it non-blocking.
        with contextlib.suppress(OSError):
            while select.select([0], [], []) and os.read(0, 4096):
                pass
        loop.call_soon_threadsafe(stopped.set)

    threading.Thread(target=wait, daemon=True).start()


def _announce(options: argparse.Namespace, ports: list[int], control_port: int | None) -> None:
    if options.ready_line:
        print(ready_line(ports, control_port), flush=True)
        return
    url, *others = (f"http://{_in_url(options.host)}:{port}/" for port in ports)
    also = f" and {' '.join(others)}" if others else ""
    print(f"serving {options.pages} pages at {url}{also}\ntry: curl -i {url}p/1\nCtrl-C stops", file=sys.stderr)
    if control_port is not None:
        print(f"control port: {control_port}", file=sys.stderr)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _host(text: str) -> str:
    with contextlib.suppress(UnicodeError):
        if text.encode("idna"):
            return text
    raise argparse.ArgumentTypeError(f"{text!a} is not a host name or an address")


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:
        raise argparse.ArgumentTypeError("a port is between 0 and 65535")
    return port


def _count(text: str) -> int:
    count = int(text)
    if not 1 <= count <= MOST_PORTS:
        raise argparse.ArgumentTypeError(f"a server listens at 1 to {MOST_PORTS} ports")
    return count


def _fault(text: str) -> tuple[str, Any]:
    kind, _, share = text.partition("=")
    try:
        return kind, float(share)
    except ValueError:
        raise ValueError(f'"{text}" is no fault; write KIND=SHARE, for example reset-mid=0.1') from None


if __name__ == "__main__":
    sys.exit(program())
