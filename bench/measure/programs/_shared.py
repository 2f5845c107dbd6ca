"""Helpers that probes share: orders and their arguments, a clock, a child process, and a check of the pages."""

import importlib
import json
import os
import re
import resource
import signal
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inflight.strategies.core.page import Fetch

LIFETIME_S = 30.0
MOST_LIFETIME_S = 2_000_000
_SERVER = re.compile(r"http://127\.0\.0\.1:([1-9][0-9]{0,4})")
_ORDER = 'standard input must be one line of JSON: {"arguments": {...}, "base": URL or null, "lifetime_s": seconds}'


class ArgumentError(ValueError):
    """An unknown probe or an invalid argument; the message says in one sentence what is allowed."""


class WrongAnswerError(Exception):
    """A crawl did not fetch all pages of the site; the message says how many, and what went wrong."""


def probes() -> list[str]:
    """Return the names of all probes."""
    return sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py"))


def find_probe(words: Sequence[str]) -> str:
    """Return the probe that the command line names. Raises ArgumentError with the closest name."""
    if len(words) != 1:
        raise ArgumentError(f"expected the name of one probe, got {len(words)}; known: {', '.join(probes())}")
    if words[0] not in probes():
        raise ArgumentError(f"unknown probe {words[0]!r:.60}{_hint(words[0], probes())}")
    return words[0]


def read_order(line: bytes) -> tuple[dict[str, Any], str | None, float]:
    """Return arguments, base and lifetime from the line of input. Raises ArgumentError."""
    try:
        order = {"base": None, "lifetime_s": LIFETIME_S} | json.loads(line)
        arguments, base, lifetime_s = (order.pop(name) for name in ("arguments", "base", "lifetime_s"))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ArgumentError(_ORDER) from error
    in_time = type(lifetime_s) in {int, float} and 0 < lifetime_s <= MOST_LIFETIME_S
    if order or not isinstance(arguments, dict) or not isinstance(base, str | None) or not in_time:
        raise ArgumentError(_ORDER)
    return arguments, base, float(lifetime_s)


def measure(name: str, arguments: Mapping[str, Any], base: str | None) -> dict[str, Any]:
    """Return what a probe measured, with its arguments. Raises ArgumentError for invalid arguments."""
    probe = importlib.import_module(f"inflight.bench.measure.programs.{name}")
    given = checked(arguments, probe.ARGUMENTS, probe.BOUNDS)
    measured: dict[str, Any] = probe.measure(base if probe.SITE is None else need_server(base), **given)
    return given | measured


def checked(
    arguments: Mapping[str, Any],
    usual: Mapping[str, tuple[Any, ...]],
    bounds: Mapping[str, tuple[int, int]],
) -> dict[str, Any]:
    """Return a value for each argument: the given one, or the first ``usual`` one.

    A whole number must be within its ``bounds``, a word must be a usual one. Raises ArgumentError.
    """
    for name in arguments:
        if name not in usual:
            raise ArgumentError(f"unknown argument {name!r:.60}{_hint(name, list(usual))}")
    given = {name: arguments.get(name, values[0]) for name, values in usual.items()}
    for name, value in given.items():
        if name in bounds:
            _check_number(name, value, *bounds[name])
        elif value not in usual[name]:
            raise ArgumentError(f"{name} cannot be {value!r:.60}{_hint(value, usual[name])}")
    return given


def need_server(base: str | None) -> str:
    """Return the base URL of the fake server to crawl. Raises ArgumentError for any other URL."""
    found = _SERVER.fullmatch(base or "")
    if base is None or found is None or int(found[1]) > 65_535:
        raise ArgumentError(f"base must be that of a server on this machine, http://127.0.0.1:PORT, not {base!r:.60}")
    return base


@contextmanager
def timed() -> Iterator[dict[str, int]]:
    """Yield a table that receives the wall time and the CPU time of the ``with`` block."""
    taken: dict[str, int] = {}
    begin_ns, cpu_begin_ns = time.perf_counter_ns(), time.process_time_ns()
    yield taken
    cpu_ns, wall_ns = time.process_time_ns() - cpu_begin_ns, time.perf_counter_ns() - begin_ns
    taken |= {"wall_ns": wall_ns, "cpu_ns": cpu_ns}


def check_pages(finished: Iterable["Fetch"], site: Mapping[str, Any] | None) -> int:
    """Return the number of pages with status 200. Raises WrongAnswerError unless these are all pages of the site."""
    assert site is not None
    fetches = list(finished)
    pages = sum(fetch.status == 200 for fetch in fetches)
    if pages != site["pages"]:
        errors = sorted({fetch.error for fetch in fetches if fetch.error})
        why = f": {', '.join(errors)}" if errors else ""
        raise WrongAnswerError(f"the crawl fetched {pages} of {site['pages']} pages{why}")
    return pages


@contextmanager
def child_process(work: Callable[[socket.socket], None]) -> Iterator[socket.socket]:
    """Run ``work`` in a forked child, and yield a socket that is connected to it; kill the child at the end.

    The child's work costs this process no CPU time. The child's end of the socket is readable when this process has
    ended.
    """
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            ours.close()
            work(theirs)
        finally:
            os._exit(0)
    theirs.close()
    try:
        with ours:
            yield ours
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def raise_descriptor_limit() -> int:
    """Raise the soft limit on descriptors to the hard limit; return it."""
    from inflight.bench.measure import worker

    worker.raise_descriptor_limit()
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2**31 if soft == resource.RLIM_INFINITY else soft


def _check_number(name: str, value: Any, least: int, greatest: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= greatest:
        # repr fails for an int of more than 4300 digits (sys.set_int_max_str_digits).
        shown = "one outside" if isinstance(value, int) and abs(value) > 2**63 else repr(value)[:40]
        raise ArgumentError(f"{name} must be a whole number between {least} and {greatest}, not {shown}")


def _hint(word: Any, known: Sequence[str]) -> str:
    near = get_close_matches(word[:60], known, n=1) if isinstance(word, str) else []
    return f'; did you mean "{near[0]}"?' if near else f"; known: {', '.join(known)}"
