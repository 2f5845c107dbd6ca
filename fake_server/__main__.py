"""The command line: python -m inflight.fake_server --pages 1000 --latency 50ms."""

import argparse
import asyncio
import contextlib
import errno
import json
import os
import resource
import select
import shlex
import signal
import sys
import threading
from io import TextIOWrapper

from inflight.fake_server.config import CA, CONTROL_SECRET
from inflight.fake_server.options import OPTIONS, Settings, add_options, settings

MIN_DESCRIPTORS = 64
"""Descriptors of a server with a few clients: an event loop without any for itself cannot even end in order."""

EVERY_ADDRESS = ("0.0.0.0", "::")
"""Hosts that stand for all addresses of this machine: a server listens there, and no client can ask for them."""


class ServeError(Exception):
    """The server cannot start; the message says why."""


def main(argv: list[str] | None = None) -> int:
    """Serve until stopped; return the exit code: 0, or 2 for invalid options."""
    parser = argparse.ArgumentParser(prog="fake_server", description="Serve a synthetic site.")
    add_options(parser, OPTIONS)
    try:
        serve(settings(vars(parser.parse_args(argv))))
    except ValueError as error:
        parser.error(str(error))  # exits with 2
    except ServeError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def program() -> int:
    """Run as a program. Return 2 if standard output cannot be written; a closed pipe is no error."""
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
    """Return the JSON line that tells a runner the ports."""
    return json.dumps({"port": ports[0], "ports": ports, "control_port": control_port, "pid": os.getpid()})


def serve(wanted: Settings) -> None:
    """Serve until stopped. Raises ServeError if it cannot listen, or has a control port and no secret for it."""
    secret = os.environ.pop(CONTROL_SECRET, "")
    if wanted.control_port is not None and not secret:
        raise ServeError(
            f"--control-port needs a secret, which programs must send to it; set {CONTROL_SECRET} in the environment"
        )
    _open_standard_streams()
    # Imported here so that --help needs nothing installed.
    import uvloop

    if wanted.host not in {"127.0.0.1", "::1", "localhost"}:
        print(
            f"warning: {wanted.host} may be reached by other machines; this server is for tests",
            file=sys.stderr,
        )
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= most < MIN_DESCRIPTORS:
        raise ServeError(f"RLIMIT_NOFILE (ulimit -Hn) is {most}, and a server needs {MIN_DESCRIPTORS}; raise the limit")
    try:
        loop = uvloop.new_event_loop()
    except OSError as error:
        raise ServeError(f"cannot start an event loop: {error.strerror or error}") from error
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(_serve(wanted, secret))


async def _serve(wanted: Settings, secret: str) -> None:
    from inflight.fake_server import control
    from inflight.fake_server.server import Server, prepare_process

    prepare_process()
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    server = Server(loop, wanted.site, wanted.idle_timeout_ns / 1e9, wanted.certificate)
    listening, control_port = None, None
    try:
        ports = await server.listen(wanted.host, wanted.port, wanted.ports, tls=wanted.tls)
        if wanted.control_port is not None:
            commands = control.Control(server, stopped.set, secret)
            listening, control_port = await control.listen(commands, loop, wanted.control_port)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopped.set)
        if wanted.exit_with_stdin:
            _watch_stdin(loop, stopped)
    except OSError as error:
        address = f"{_in_url(wanted.host)}:{wanted.port}"
        taken = "; choose another port with --port" if error.errno == errno.EADDRINUSE else ""
        raise ServeError(f"cannot listen on {address}: {error.strerror or error}{taken}") from error
    else:
        _announce(wanted, ports, control_port)
        await stopped.wait()
    finally:
        server.close()
        if listening is not None:
            listening.close()


def _open_standard_streams() -> None:
    """Open /dev/null for each closed standard stream, as after ``<&-`` in a shell.

    Otherwise the event loop's own descriptors get these numbers: a reader of stdin would read them, and libuv aborts
    the process when it has to close one of them.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one


def _watch_stdin(loop: asyncio.AbstractEventLoop, stopped: asyncio.Event) -> None:
    """Stop when stdin ends or cannot be read. A thread does this, because epoll rejects stdin if it is a file."""

    def wait() -> None:
        # select, because whoever shares stdin with us may have made it non-blocking.
        with contextlib.suppress(OSError):
            while select.select([0], [], []) and os.read(0, 4096):
                pass
        loop.call_soon_threadsafe(stopped.set)

    threading.Thread(target=wait, daemon=True).start()


def _announce(wanted: Settings, ports: list[int], control_port: int | None) -> None:
    """Print the URLs, and a command that fetches a page; over TLS from a name that is in the certificate."""
    if wanted.ready_line:
        print(ready_line(ports, control_port), flush=True)
        return
    scheme = "https" if wanted.tls else "http"
    url, *others = (f"{scheme}://{_in_url(wanted.host)}:{port}/" for port in ports)
    also = f" and {' '.join(others)}" if others else ""
    options = "-i"
    if wanted.tls:
        options = f"-i --cacert {shlex.quote(str(CA))}"
    page = f"{url}p/1"
    if wanted.host in EVERY_ADDRESS:
        page = f"{scheme}://localhost:{ports[0]}/p/1"
    lines = f"serving {wanted.site.pages} pages at {url}{also}", f"try: curl {options} {page}", "Ctrl-C stops"
    print("\n".join(lines), file=sys.stderr)
    if control_port is not None:
        print(f"control port: {control_port}", file=sys.stderr)


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


if __name__ == "__main__":
    sys.exit(program())
