"""Strategies that crash, hang or lie: each leaves a row that says so, and harms no other trial."""

import errno
import json
import os
from pathlib import Path

import jsonschema
import psutil
import pytest

from inflight.bench.core.rows import SCHEMA_FILE, Row
from inflight.bench.measure.worker.crawl import cause_of
from tests.measure.workshop import Workshop, experiment

VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))

ENDINGS = {
    # strategy: (its file behind the imports, the status of its row, what the reason says)
    "raises": (
        "def crawl(job, frontier):\n    raise LookupError('no such\\n thing')",
        ("failed", "the strategy raised LookupError: no such thing"),
    ),
    "raises_a_group": (
        "def crawl(job, frontier):\n    raise ExceptionGroup('some', [ExceptionGroup('more', [ValueError('inner')])])",
        ("failed", "the strategy raised ValueError: inner"),
    ),
    "exits": ("def crawl(job, frontier):\n    sys.exit(7)", ("failed", "the strategy raised SystemExit: 7")),
    "exits_at_once": ("def crawl(job, frontier):\n    os._exit(7)", ("failed", "the worker exited with 7")),
    "exits_with_words": (
        "def crawl(job, frontier):\n    print('one'); print('last words', flush=True); os._exit(7)",
        ("failed", "the worker exited with 7: last words"),
    ),
    "is_interrupted": (
        "def crawl(job, frontier):\n    raise KeyboardInterrupt",
        ("failed", "the strategy raised KeyboardInterrupt"),
    ),
    "kills_itself": (
        "def crawl(job, frontier):\n    os.kill(os.getpid(), signal.SIGKILL)",
        ("failed", "the worker was killed by signal 9 (SIGKILL)"),
    ),
    "segfaults": (
        "def crawl(job, frontier):\n    import faulthandler\n    faulthandler._sigsegv()",
        ("failed", "the worker was killed by signal 11 (SIGSEGV)"),
    ),
    "aborts": (
        "def crawl(job, frontier):\n    os.abort()",
        ("failed", "the worker was killed by signal 6 (SIGABRT)"),
    ),
    "recurses": (
        "def crawl(job, frontier):\n    crawl(job, frontier)",
        ("failed", "the strategy raised RecursionError: maximum recursion depth exceeded"),
    ),
    "does_not_import": (
        "import no_such_module_anywhere",
        ("failed", "the worker exited with 1: ModuleNotFoundError: No module named 'no_such_module_anywhere'"),
    ),
    "has_no_crawl": (
        "",
        ("failed", "the strategy raised AttributeError: module 'inflight.strategies.has_no_crawl' has no"),
    ),
    "does_nothing": ("def crawl(job, frontier):\n    pass", ("wrong", "5 pages missing, 0 too many, 0 different")),
    "stops_early": (
        "def crawl(job, frontier):\n    frontier.done = False",
        ("failed", "the strategy raised AttributeError"),
    ),
    "forgets_one": (
        "def crawl(job, frontier):\n    honest(job, frontier)\n    frontier.finished.pop()",
        ("wrong", "1 pages missing, 0 too many, 0 different; for example /"),
    ),
    "adds_one": (
        (
            "import copy\n"
            "def crawl(job, frontier):\n"
            "    honest(job, frontier)\n"
            "    more = copy.copy(frontier.finished[0])\n"
            "    more.url += 'more'\n"
            "    frontier.finished.append(more)"
        ),
        ("wrong", "0 pages missing, 1 too many, 0 different; for example /more"),
    ),
    "lies_about_the_status": (
        "def crawl(job, frontier):\n    honest(job, frontier)\n    frontier.finished[0].status = 404",
        ("wrong", "1 different; for example /: expected status 200 with 1200 bytes, got status 404 with 1200 bytes"),
    ),
    "lies_about_the_size": (
        "def crawl(job, frontier):\n    honest(job, frontier)\n    frontier.finished[0].size -= 1",
        ("wrong", "1 different; for example /: expected status 200 with 1200 bytes, got status 200 with 1199 bytes"),
    ),
    "fails_all": (
        (
            "def crawl(job, frontier):\n"
            "    waiting = frontier.roots()\n"
            "    while waiting:\n"
            "        fetch = waiting.pop()\n"
            "        frontier.start(fetch)\n"
            "        waiting += frontier.fail(fetch, OSError('no'))"
        ),
        ("wrong", "for example /: expected status 200 with 1200 bytes, got a failure"),
    ),
    "finishes_twice": (
        (
            "def crawl(job, frontier):\n"
            "    finish = frontier.finish\n"
            "    frontier.finish = lambda fetch, response: (finish(fetch, response), finish(fetch, response))[0]\n"
            "    honest(job, frontier)"
        ),
        ("failed", "was finished twice"),
    ),
    "closes_its_input": (
        "def crawl(job, frontier):\n    honest(job, frontier)\n    sys.stdin.close()",
        ("failed", "the worker exited with 1: ValueError: I/O operation on closed file."),
    ),
    "closes_every_descriptor": (
        "def crawl(job, frontier):\n    honest(job, frontier)\n    os.closerange(0, 100)",
        ("failed", "the worker exited with 1"),
    ),
    "closes_every_descriptor_and_stays": (
        "def crawl(job, frontier):\n    os.closerange(0, 100)\n    time.sleep(1000)",
        ("failed", "the worker closed its output but is still running"),
    ),
    "writes_rubbish_to_every_descriptor": (
        (
            "def crawl(job, frontier):\n"
            "    for descriptor in range(3, 20):\n"
            "        try:\n"
            "            os.write(descriptor, b'rub\\xffbish\\n')\n"
            "        except OSError:\n"
            "            pass\n"
            "    honest(job, frontier)"
        ),
        ("failed", r"the worker sent an invalid message: b'rub\xffbish'"),
    ),
    "forges_a_message": (
        (
            "def crawl(job, frontier):\n"
            "    for descriptor in range(3, 20):\n"
            "        try:\n"
            '            os.write(descriptor, b\'{"event": "crawled"}\\n\')\n'
            "        except OSError:\n"
            "            pass\n"
            "    honest(job, frontier)"
        ),
        ("failed", "the worker"),
    ),
    "prints": (
        (
            "def crawl(job, frontier):\n"
            '    print(\'{"event": "crawled"}\', flush=True)\n'
            "    os.write(1, b'rubbish')\n"
            "    subprocess.run(['echo', 'rubbish'], check=True)\n"
            "    honest(job, frontier)"
        ),
        ("ok", None),
    ),
    "leaves_a_thread": (
        (
            "def crawl(job, frontier):\n"
            "    honest(job, frontier)\n"
            "    threading.Thread(target=time.sleep, args=(1000,)).start()"
        ),
        ("ok", None),
    ),
    "plain_honest": ("def crawl(job, frontier):\n    honest(job, frontier)", ("ok", None)),
}

SEED = 60
"""Puts the trials that go wrong before those that must not suffer for it; the tests say if it no longer does."""

HANGING = {
    "ignores_signals": (
        "def crawl(job, frontier):\n"
        "    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):\n"
        "        signal.signal(number, signal.SIG_IGN)\n"
        "    while True:\n"
        "        time.sleep(1000)"
    ),
    "has_children": (
        "def crawl(job, frontier):\n"
        "    sleeper = [sys.executable, '-c', 'import time; time.sleep(1000)']\n"
        "    children = [subprocess.Popen(sleeper) for _ in range(2)]\n"
        "    if not (child := os.fork()):\n"
        "        time.sleep(1000)\n"
        "    pids = [os.getpid(), child, *(child.pid for child in children)]\n"
        "    open('pids', 'w').write(repr(pids))\n"
        "    time.sleep(1000)"
    ),
}


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    made = Workshop(tmp_path_factory.mktemp("workshop"))
    for name, (body, _) in ENDINGS.items():
        made.add_strategy(name, body)
    for name, body in HANGING.items():
        made.add_strategy(name, body)
    made.add_strategy("needs_what_is_not_there", "def crawl(job, frontier): ...", ("no-such-distribution", "psutil"))
    return made


@pytest.fixture(scope="module")
def endings(workshop: Workshop) -> dict[str, Row]:
    return {row.strategy: row for row in workshop.measure(experiment(*ENDINGS))}


@pytest.mark.parametrize("name", ENDINGS)
def test_each_end_of_a_worker_has_its_reason(endings: dict[str, Row], name: str) -> None:
    status, words = ENDINGS[name][1]

    row = endings[name]

    assert row.status == status, row.reason
    assert row.valid is False or status == "ok"
    if words is None:
        assert row.reason is None
    else:
        assert words in (row.reason or "")
        assert "\n" not in (row.reason or "")


@pytest.mark.parametrize("name", ["forgets_one", "lies_about_the_size", "fails_all"])
def test_a_wrong_answer_keeps_its_figures_and_has_a_red_check(endings: dict[str, Row], name: str) -> None:
    row = endings[name]

    assert row.measured.makespan_ns > 0
    assert "answer correct" in [check.name for check in row.failed_checks]


def test_failed_pages_are_no_throughput(endings: dict[str, Row]) -> None:
    measured = endings["fails_all"].measured

    assert (measured.pages, measured.failed_pages, measured.pages_per_s) == (1, 1, 0)
    assert "no unexpected failures" in [check.name for check in endings["fails_all"].failed_checks]


def test_what_was_known_before_a_crash_is_kept(endings: dict[str, Row]) -> None:
    assert endings["raises"].knobs.strategy == "raises"
    assert not endings["does_not_import"].knobs


def test_every_row_is_one_line_of_the_published_format(endings: dict[str, Row]) -> None:
    for row in endings.values():
        assert "\n" not in row.to_json()
        assert Row.from_json(row.to_json()) == row
        VALIDATOR.validate(json.loads(row.to_json()))


@pytest.fixture(scope="module")
def hanging(workshop: Workshop) -> dict[str, Row]:
    return {row.strategy: row for row in workshop.measure(experiment(*HANGING, deadline_s=5))}


@pytest.mark.parametrize("name", HANGING)
def test_a_worker_that_hangs_is_killed_at_its_deadline(hanging: dict[str, Row], name: str) -> None:
    row = hanging[name]

    assert (row.status, row.reason) == ("timeout", "the worker did not finish by its deadline and was killed")
    assert row.duration_ns >= 5e9
    assert row.knobs.strategy == name


def test_nothing_of_a_killed_worker_is_left(hanging: dict[str, Row], workshop: Workshop) -> None:
    pids = json.loads((workshop.folder / "pids").read_text(encoding="utf-8"))

    assert len(pids) == 4
    assert [pid for pid in pids if _runs(pid)] == []


def test_a_strategy_without_what_it_needs_is_a_skipped_row(workshop: Workshop) -> None:
    (row,) = workshop.measure(experiment("needs_what_is_not_there"))

    assert (row.status, row.reason) == ("skipped", "needs no-such-distribution, which is not installed")
    assert not any((row.measured, row.server, row.knobs, row.checks))
    assert not row.valid


def test_a_failed_memory_trial_does_not_close_the_gate_for_the_next(workshop: Workshop) -> None:
    workshop.add_strategy(
        "dies_when_held",
        "def crawl(job, frontier):\n"
        "    kill = lambda: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    honestly = lambda: honest_callbacks(job, frontier)\n"
        "    is_held = job.timeout_ns == 8_000_000_000\n"  # the deadline, in a memory trial
        "    crawl_and_soon(honestly, kill) if is_held else honestly()",
    )
    workshop.add_strategy("holds_too_few", "def crawl(job, frontier):\n    honest(job, frontier)")
    mixed = experiment(
        "dies_when_held", "holds_too_few", "callbacks", seed=SEED, deadline_s=8, kind="memory", in_flight=[3]
    )
    mixed += "\n[[crawl]]\nin_flight = [3]\npages = 10\n"

    found = workshop.measure(mixed)

    assert [(row.strategy, row.kind, row.reason) for row in found] == [
        ("holds_too_few", "memory", "only 1 of 3 fetches were in flight at the deadline"),
        ("dies_when_held", "crawl", None),
        ("dies_when_held", "memory", "the worker was killed by signal 9 (SIGKILL)"),
        ("holds_too_few", "crawl", None),
        ("callbacks", "memory", None),
        ("callbacks", "crawl", None),
    ]


@pytest.mark.parametrize("kind", ["crawl", "memory"])
def test_a_server_that_dies_during_a_trial_is_named_and_replaced(workshop: Workshop, kind: str) -> None:
    workshop.add_strategy(
        "kills_the_server",
        "def crawl(job, frontier):\n"
        "    kill = lambda: [server.kill() for server in servers()]\n"
        "    crawl_and_soon(lambda: honest_callbacks(job, frontier), kill)",
    )

    found = workshop.measure(
        experiment("kills_the_server", "callbacks", seed=SEED, kind=kind, in_flight=[3], pages=90, latency=["20ms"])
    )

    assert [row.strategy for row in found] == ["kills_the_server", "callbacks"]
    for row in found:
        if row.strategy == "callbacks":
            assert (row.status, row.reason) == ("ok", None)
        else:
            assert row.status == "failed"
            assert "the fake server died during the trial" in (row.reason or "")
            assert "killed by signal 9" in (row.reason or "")


def test_a_server_that_stops_answering_is_replaced(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    workshop.change("bench/measure/server.py", "ANSWER_SECONDS = 60", "ANSWER_SECONDS = 5")
    workshop.add_strategy(
        "stops_the_server",
        "def crawl(job, frontier):\n    honest(job, frontier)\n    [server.suspend() for server in servers()]",
    )

    found = workshop.measure(experiment("stops_the_server", "callbacks", seed=SEED))

    assert {row.reason for row in found if row.strategy == "callbacks"} == {None}
    assert all("does not answer" in (row.reason or "") for row in found if row.strategy == "stops_the_server")
    assert [row.strategy for row in found] == ["stops_the_server", "callbacks"]


def test_a_new_strategy_is_one_file_without_registration(tmp_path: Path) -> None:
    workshop = Workshop(tmp_path)
    (tmp_path / "strategies" / "brand_new.py").write_text(
        '"""A model that nobody has registered."""\n\n'
        "from inflight.strategies.sequential import crawl as crawl\n\n"
        'STACK = "shared"\nREQUIRES = ()\nMOST_IN_FLIGHT = 1\n',
        encoding="utf-8",
    )

    (row,) = workshop.measure(experiment("brand_new", in_flight=[1, 10]))
    listed = workshop.python("-m", "inflight", "list")
    by_default = workshop.python("-m", "inflight", "run", "smoke", "--list")

    assert (row.strategy, row.status) == ("brand_new", "ok")
    assert row.workload.in_flight == 1, "the model's own limit counts"
    assert "brand_new" in listed.stdout
    assert "A model that nobody has registered" in listed.stdout
    assert "brand_new" in by_default.stdout


def _runs(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        os.kill(pid, 0)
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except (ProcessLookupError, psutil.NoSuchProcess):
        return False


@pytest.mark.parametrize(
    ("bug", "cause"),
    [
        (MemoryError(), "limit"),
        (RuntimeError("can't start new thread"), "limit"),
        (OSError(errno.EMFILE, "too many"), "limit"),
        (ExceptionGroup("many", [OSError(errno.EMFILE, "too many"), ValueError()]), "limit"),
        (OSError(errno.ECONNRESET, "reset"), None),
        (RuntimeError("another"), None),
    ],
    ids=repr,
)
def test_a_limit_of_the_machine_is_distinguished_from_a_bug(bug: Exception, cause: str | None) -> None:
    assert cause_of(bug) == cause
