"""Clients that keep fewer fetches in flight than asked for, by a limit of their own such as the size of a pool."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from inflight.bench.measure.held import KNOWN_NS, LOOK_NS, MAX_GAP_NS, STILL_NS, Plateau
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from tests.cli.command import call

MS = 1_000_000
Reading = tuple[int, int, int]
"""Time, CPU time and number held."""


def still(held: int, at_ns: int = 0, cpu_ns: int = 0, for_ns: int = 2 * STILL_NS) -> Iterator[Reading]:
    """Yield the readings of a client that does nothing."""
    for now_ns in range(at_ns, at_ns + for_ns, LOOK_NS):
        yield now_ns, cpu_ns, held


def reached_after_ns(readings: Iterator[Reading], known: set[int] | None = None) -> int | None:
    """Return when the limit is reached; None if it never is."""
    plateau = Plateau(0, set() if known is None else known)
    return next((reading[0] for reading in readings if plateau.is_reached(*reading)), None)


def slow(cpu_ns_each: int, held_each: int) -> Iterator[Reading]:
    """Yield the readings of a client that goes on, however slowly."""
    for number in range(400):
        yield number * LOOK_NS, number * cpu_ns_each, 1 + number * held_each


def stopped_and_seen_again() -> Iterator[Reading]:
    """Yield the readings of a machine that was stopped for an hour."""
    yield from still(57, for_ns=STILL_NS - 2 * LOOK_NS)
    yield 3_600 * 1000 * MS, 0, 57


CASES: dict[str, tuple[Iterator[Reading], int | None]] = {
    "does nothing": (still(100), STILL_NS),
    "holds nothing": (still(0), None),
    "starts fetches one by one": (slow(0, 1), None),
    "uses CPU time": (slow(LOOK_NS // 20, 0), None),
    "has a timer": (slow(LOOK_NS // 400, 0), STILL_NS),
    "was stopped with the whole machine": (stopped_and_seen_again(), None),
}


@pytest.mark.parametrize("name", CASES)
def test_only_a_client_that_does_nothing_has_a_limit_of_its_own(name: str) -> None:
    readings, after_ns = CASES[name]

    assert reached_after_ns(readings) == after_ns


def test_a_number_that_an_earlier_trial_found_needs_less_time_and_no_other_one_does() -> None:
    known = set[int]()

    assert [reached_after_ns(still(held), known) for held in (100, 100, 99)] == [STILL_NS, KNOWN_NS, STILL_NS]


def test_looks_are_close_enough_that_no_time_between_them_is_a_gap() -> None:
    assert LOOK_NS < MAX_GAP_NS < STILL_NS


CLIENT = '''"""urllib3 with one pool of 10 for all threads."""

import contextlib

import urllib3

from inflight.strategies import client as driver

STACK = "own"
REQUIRES = ("urllib3",)
THREADS_EACH = 1
POOL = urllib3.PoolManager(maxsize=10, block=True)


def crawl(job, frontier):
    driver.crawl_in_threads(job, frontier, open_client, get, {})


def open_client(job):
    return contextlib.nullcontext(POOL)


def get(pool, url, job):
    headers = driver.request_headers(job) | {"Accept-Encoding": urllib3.util.SKIP_HEADER}
    response = pool.request("GET", url, headers=headers, redirect=False, decode_content=False)
    return driver.Answer(response.status, response.headers.get("Content-Type"), None, response.data)
'''
EXPERIMENT = """
strategies = ["./pool_of_ten.py", "callbacks"]
rounds = 2
throughput = [{ in_flight = [20], cycles = 2, rounds = 2 }]
crawl = [{ in_flight = [20], latency = ["10ms"], rounds = 1, site = { pages = 200 } }]
memory = [{ in_flight = [5, 20], rounds = 1 }]
"""
CAP = "cap reached, never exceeded"


@pytest.mark.ci
def test_a_client_with_a_small_pool_is_measured_at_what_it_reaches_and_the_command_says_so(tmp_path: Path) -> None:
    (tmp_path / "pool_of_ten.py").write_text(CLIENT, "utf-8")
    (tmp_path / "limited.toml").write_text(EXPERIMENT, "utf-8")

    done = call("run", "limited.toml", folder=tmp_path)

    (folder,) = (tmp_path / "results").iterdir()
    assert done.code == 0, done.err
    assert "pool_of_ten keeps at most 10 of 20 in flight: the client's own limit?" in " ".join(done.out.split())
    limited = {row.trial: row for row in rows.read(folder) if row.strategy == "pool_of_ten"}
    cases = {(row.kind, row.workload.in_flight, row.reached): verdict_of(row) for row in limited.values()}
    assert cases == {
        ("arm", 20, "10 of 20"): ("passed", "reached 10 of 20"),
        ("crawl", 20, "10 of 20"): ("passed", "reached 10 of 20"),
        ("memory", 5, ""): ("passed", "cap 5"),
        ("memory", 20, "10 of 20"): ("passed", "reached 10 of 20"),
    }
    assert "pool_of_ten (10 of 20)" in done.err


def verdict_of(row: Row) -> tuple[str, str]:
    """Return the verdict on the number in flight, and what it says first."""
    check = next(check for check in row.checks if check.name == CAP)
    return check.verdict, check.detail.partition(",")[0]
