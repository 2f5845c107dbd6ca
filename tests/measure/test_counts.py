"""What a strategy does per page: counts that repeat, what cannot be counted, and strategies that go wrong."""

import errno
import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import psutil
import pytest
from msgspec.structs import replace

from inflight import strategies
from inflight.bench.measure import counts, host
from inflight.bench.measure.process import DEFAULT, Runtime
from inflight.bench.measure.server import Server
from inflight.bench.measure.trial import Setting
from inflight.bench.measure.worker import trace
from inflight.bench.plan import trials as plan
from inflight.bench.plan.grid import CountsTable
from inflight.bench.plan.judge import ExperimentError
from inflight.bench.plan.trial import Trial
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import Row
from inflight.bench.rows.kinds import Arm
from inflight.strategies import registry
from tests.cli.command import call
from tests.measure import given_interpreters
from tests.patience import FOREVER_S

FINISH = "strategies/core/frontier.py:Frontier.finish"
PLANTED = "bench/measure/worker/arm.py:plant.<locals>.slower"
PAGES = 300
EXPERIMENT = """
strategies = ["callbacks", "native_asyncio", "thread_pool"]
[[counts]]
"""
HEAD = '''"""A model for the test."""

import ctypes
import os
import signal
import struct

from inflight.strategies import sequential

STACK = "shared"
REQUIRES = ()


'''
WATCHED = (
    HEAD
    + """def crawl(job, frontier):
    finish = frontier.finish

    def finishing(fetch, response):
        links = finish(fetch, response)
        if len(frontier.finished) == 30:
            {deed}
        return links

    frontier.finish = finishing
    try:
        sequential.crawl(job, frontier)
    except StopIteration:
        pass
"""
)
MANY = 1_000
"""Functions that a page calls: reading the counts of so many makes a garbage collection certain up to Python 3.11."""
GARBAGE = (
    HEAD
    + f"""functions = [eval("lambda: None") for _ in range({MANY})]


class Cycle:
    def __init__(self):
        self.itself = self

    def __del__(self):
        for function in functions:
            function()


def crawl(job, frontier):
    finish = frontier.finish

    def finishing(fetch, response):
        for function in functions:
            function()
        Cycle()
        return finish(fetch, response)

    frontier.finish = finishing
    sequential.crawl(job, frontier)
"""
)
ENDINGS = {
    # case: (what the strategy does at its 30th page, status of the row, what the reason says)
    "raises": ("raise LookupError('no such')", "failed", "the strategy raised LookupError: no such"),
    "ends its crawl": ("raise StopIteration", "wrong", "30 of 50 pages"),
    "kills itself": ("os.kill(os.getpid(), signal.SIGKILL)", "failed", "the worker was killed by signal 9 (SIGKILL)"),
    "kills itself where it is traced": (
        "os.getpid() == os.getpgrp() or os.kill(os.getpid(), signal.SIGKILL)",
        "failed",
        "the worker was killed by signal 9 (SIGKILL)",
    ),
    "leaves where it is traced": (
        "os.getpid() == os.getpgrp() or os._exit(7)",
        "failed",
        "the worker exited with 7",
    ),
    "changes a size": ("fetch.size -= 1", "wrong", "expected status 200 with "),
    "changes a status": ("fetch.status = 404", "wrong", "got status 404 with "),
    "changes a path": ("fetch.url += '/more'", "wrong", "/more came twice, or is not a page of the site"),
    "names a page twice": ("fetch.url = frontier.finished[0].url", "wrong", "came twice, or is not a page of the site"),
}
FILTER = """
def refuse(request):
    \"\"\"Have the kernel refuse ptrace(2), or one of its requests, to this process: seccomp(2).\"\"\"
    load, jump_equal, give = 0x20, 0x15, 0x06
    lines = [(load, 0, 0, 0), (jump_equal, 0, 3 if request else 1, {ptrace})]
    if request:
        lines += [(load, 0, 0, 16), (jump_equal, 0, 1, request)]
    lines += [(give, 0, 0, 0x00050000 | {errno}), (give, 0, 0, 0x7FFF0000)]
    code = b"".join(struct.pack("HBBI", *line) for line in lines)
    buffer = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(lines), ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, program, 0, 0) == 0


refuse({request})
crawl = sequential.crawl
"""
PTRACE = {"x86_64": 101, "aarch64": 117}


@pytest.fixture(autouse=True)
def _no_strategy_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(registry.VARIABLE, "")


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Count few pages, where the test is about something else than how the counts repeat."""
    monkeypatch.setattr(counts, "FIRST", 20)
    monkeypatch.setattr(counts, "LAST", 50)


short = pytest.mark.usefixtures("_short")


def trial_of(name: str, arm: Arm | None = None, **table: Any) -> Trial:
    grid = CountsTable(**table)
    (workload,) = grid.workloads("counts")
    return plan.trial_of("counts", 1, replace(workload, arm=arm), strategies.describe(name))


def count(server: Server, name: str, runtime: Runtime = DEFAULT, arm: Arm | None = None, **table: Any) -> Row:
    setting = Setting("made", host.ANY, lambda _: FOREVER_S, runtime=runtime)
    return counts.run_counts(trial_of(name, arm, **table), server, setting)


def measured(row: Row) -> dict[str, Any]:
    """Return what was counted in a good row."""
    assert row.status == "ok", row.reason
    assert {check.verdict for check in row.checks} == {"passed"}
    values: dict[str, Any] = json.loads(row.to_json())["measured"]
    return values


def strategy(folder: Path, text: str) -> str:
    (folder / "made.py").write_text(text, "utf-8")
    return strategies.add(str(folder / "made.py"))


def assert_counted(values: Mapping[str, Any]) -> None:
    """Check that the calls are of the pages, and that nothing of this machine or of the worker is among them."""
    assert values["python_calls"][FINISH] == 1
    assert values["pages"] == PAGES
    names = [*values["python_calls"], *values["c_calls"]]
    for unwanted in ("0x", gettempdir(), str(Path.cwd()), str(Path.home()), "worker/counts", "_lsprof", "getrusage"):
        assert not [name for name in names if unwanted in name]
    assert not [name for name in names if name.startswith("/")]


@pytest.mark.ci
def test_a_run_counts_the_same_in_both_repeats(tmp_path: Path) -> None:
    (tmp_path / "counts.toml").write_text(EXPERIMENT, "utf-8")

    done = call("run", tmp_path / "counts.toml", "--out", tmp_path / "results")

    assert done.code == 0, done.err
    (folder,) = (tmp_path / "results").iterdir()
    made = {row.strategy: measured(row) for row in rows.read(folder)}
    assert sorted(made) == ["callbacks", "native_asyncio", "thread_pool"]
    for values in made.values():
        assert_counted(values)
        assert values["repeats_equal"] is True
        assert "lacks" not in values
        for name, (first, second) in values["totals"].items():
            assert first == second
            assert values[f"{name}_per_page"] == pytest.approx(first / PAGES)
            assert sum(values[name].values()) == pytest.approx(first / PAGES, abs=0.01)
    assert made["callbacks"]["system_calls"] == {"epoll_wait": 1, "sendto": 1, "recvfrom": 1}
    assert made["thread_pool"]["system_calls"] == {"sendto": 1, "recvfrom": 1}
    assert made["callbacks"]["python_calls_per_page"] < made["native_asyncio"]["python_calls_per_page"]


@short
def test_a_planted_call_is_one_more_call_of_python_and_is_named(fake: Server) -> None:
    usual = measured(count(fake, "callbacks", repeats=1))
    planted = measured(
        count(
            fake,
            "callbacks",
            arm=Arm("B", "callbacks", "compared", planted_loops=1),
            repeats=1,
        )
    )

    assert planted["totals"]["python_calls"][0] - usual["totals"]["python_calls"][0] == 30
    assert planted["totals"]["c_calls"] == usual["totals"]["c_calls"]
    assert planted["totals"]["system_calls"] == usual["totals"]["system_calls"]
    assert set(planted["python_calls"]) - set(usual["python_calls"]) == {PLANTED}
    assert "repeats_equal" not in planted


EACH_PAGE = (
    HEAD
    + """import _thread
import subprocess
import sys


def called():
    pass


def work(lock):
    called()
    lock.release()


def each_page():
    {deed}


def crawl(job, frontier):
    finish = frontier.finish

    def finishing(fetch, response):
        each_page()
        return finish(fetch, response)

    frontier.finish = finishing
    sequential.crawl(job, frontier)
"""
)
RAW_THREAD = "lock = _thread.allocate_lock(); lock.acquire(); _thread.start_new_thread(work, (lock,)); lock.acquire()"
WAITED_FOR = "child = os.fork(); child or os._exit(0); os.waitpid(child, 0)"
MARK = "os.sched_get_priority_max(os.SCHED_OTHER)"


@short
def test_calls_in_threads_that_begin_without_the_module_threading_are_counted(fake: Server, tmp_path: Path) -> None:
    values = measured(count(fake, strategy(tmp_path, EACH_PAGE.format(deed=RAW_THREAD)), repeats=1))

    assert values["python_calls"]["made.py:called"] == 1


@short
@pytest.mark.parametrize(
    ("deed", "lacking", "why"),
    [
        (WAITED_FOR, "calls", "the strategy has child processes, and their calls are not counted"),
        (MARK, "system calls", "the marks of its first and of its last page were not seen once each"),
    ],
)
def test_what_would_be_counted_wrong_is_not_counted(
    fake: Server, tmp_path: Path, deed: str, lacking: str, why: str
) -> None:
    values = measured(count(fake, strategy(tmp_path, EACH_PAGE.format(deed=deed)), repeats=1))

    assert values["lacks"] == {lacking: why}


@short
def test_finalizers_take_no_count_away(fake: Server, tmp_path: Path) -> None:
    values = measured(count(fake, strategy(tmp_path, GARBAGE), repeats=1))

    calls = values["python_calls"]
    assert calls[FINISH] == calls["made.py:crawl.<locals>.finishing"] == calls["made.py:Cycle.__init__"] == 1
    assert calls["<string>:<lambda>"] == pytest.approx(MANY * (1 + calls["made.py:Cycle.__del__"]), abs=0.1)


@short
@pytest.mark.parametrize("case", ENDINGS)
def test_a_strategy_that_goes_wrong_leaves_a_row_and_no_process(case: str, fake: Server, tmp_path: Path) -> None:
    deed, status, reason = ENDINGS[case]
    before = psutil.Process().children(recursive=True)

    row = count(fake, strategy(tmp_path, WATCHED.format(deed=deed)), repeats=1)

    assert row.status == status, row.reason
    assert reason in (row.reason or "")
    assert psutil.Process().children(recursive=True) == before
    assert fake.stats()["in_flight"] == 0


@short
def test_a_client_that_hands_no_pages_over_is_refused_in_one_sentence_at_any_deadline(fake: Server) -> None:
    row = count(fake, "null_client", repeats=1)

    assert row.status == "failed"
    assert row.reason == "the strategy does not hand its pages over as they finish, so they cannot be counted"


@short
@pytest.mark.skipif(platform.machine() not in PTRACE, reason="numbers of system calls are known for two machines")
@pytest.mark.parametrize(
    ("request_", "error", "lack"),
    [
        (0, errno.EPERM, "system calls cannot be traced: Operation not permitted"),
        (trace.SYSCALL_INFO, errno.EIO, "this kernel does not say which system calls a process makes"),
    ],
    ids=["all", "old kernel"],
)
def test_where_ptrace_is_refused_the_calls_are_counted(
    request_: int, error: int, lack: str, fake: Server, tmp_path: Path
) -> None:
    text = HEAD + FILTER.format(ptrace=PTRACE[platform.machine()], errno=error, request=request_)

    values = measured(count(fake, strategy(tmp_path, text)))

    assert values["lacks"] == {"system calls": lack}
    assert values["python_calls"][FINISH] == 1
    assert values["repeats_equal"] is True
    assert "system_calls" not in values


@pytest.mark.ci
def test_bytecodes_are_counted_on_request(fake: Server) -> None:
    values = measured(count(fake, "callbacks", bytecodes=True))

    first, second = values["totals"]["bytecodes"]
    assert first == second > values["totals"]["python_calls"][0]
    assert values["bytecodes_per_page"] == pytest.approx(first / PAGES)


@pytest.mark.night
@pytest.mark.parametrize("version", given_interpreters.VERSIONS)
def test_other_interpreters_are_counted(version: str, fake: Server, tmp_path: Path) -> None:
    try:
        python = given_interpreters.given(version, tmp_path).executable
    except ExperimentError as error:
        pytest.skip(str(error))

    for name in ("callbacks", "native_asyncio", "thread_pool"):
        values = measured(count(fake, name, Runtime(python=python), bytecodes=True))
        assert_counted(values)
        assert values["repeats_equal"] is True
        assert "getpid" not in values["system_calls"]


OTHERS = [
    *("thread_per_fetch", "thread_pool_executor", "loop_per_thread", "gevent_greenlets", "trio_tasks"),
    *("uvloop_sockets", "uvloop_streams", "aiohttp_client", "requests_threads", "core_client"),
]


@pytest.mark.ci
@pytest.mark.parametrize("name", OTHERS)
def test_threads_and_other_loops_are_counted(name: str, fake: Server) -> None:
    if lack := strategies.describe(name).lack:
        pytest.skip(lack)

    values = measured(count(fake, name))

    assert_counted(values)
    assert "lacks" not in values
    assert values["system_calls_per_page"] >= 2


def test_system_calls_have_the_names_of_the_kernel_or_else_their_numbers() -> None:
    assert counts.named({"99999": 2}) == {"system call 99999": 2}
    for machine, mark in trace.MARKS.items():
        names = counts.system_calls(machine)
        assert names[mark] == "sched_get_priority_max"
        assert names[PTRACE[machine]] == "ptrace"
    assert counts.system_calls("a machine of the future") == {}


def test_unequal_repeats_have_a_mean_and_are_called_unequal() -> None:
    calls: dict[str, Any] = {"lack": None, "c_calls": {}, "page_faults": 0, "switches": 9}
    first, second = ({"f.py:f": n, "g.py:g": 300} for n in (300, 600))

    values = counts.measured({"calls": [calls | {"python_calls": first}, calls | {"python_calls": second}]})

    assert values["repeats_equal"] is False
    assert values["totals"] == {"python_calls": [600, 900], "c_calls": [0, 0]}
    assert values["python_calls"] == {"f.py:f": 1.5, "g.py:g": 1}
    assert values["python_calls_per_page"] == 2.5
    assert values["switches"] == [9, 9]


def test_what_one_repeat_lacks_is_not_counted() -> None:
    whole = {"lack": None, "system_calls": {"1": 300}}

    values = counts.measured({"system calls": [whole, whole | {"lack": "why", "system_calls": None}]})

    assert values == {"pages": PAGES, "totals": {}, "lacks": {"system calls": "why"}}


def test_system_calls_that_do_not_repeat_are_listed_and_not_in_the_total() -> None:
    numbers = {name: str(number) for number, name in counts.system_calls(platform.machine()).items()}
    once = {numbers["mmap"]: 3, numbers["madvise"]: 6, numbers["futex"]: 5, "99999": 300}

    values = counts.measured(
        {"system calls": [{"lack": None, "system_calls": each} for each in (once, {"99999": 300})]}
    )

    assert values["system_calls"] == {"system call 99999": 1, "madvise": 0.01, "mmap": 0.005}
    assert values["totals"] == {"system_calls": [300, 300]}
    assert values["futex_calls"] == [5, 0]
    assert values["repeats_equal"] is True


def test_a_process_that_is_not_traced_is_not_moved_to_a_core(monkeypatch: pytest.MonkeyPatch) -> None:
    cores = os.sched_getaffinity(0)
    monkeypatch.setattr(trace, "MARKS", {})

    with pytest.raises(OSError, match="only on Linux on x86-64 and arm64"):
        trace.seize(os.getpid())
    assert os.sched_getaffinity(0) == cores
