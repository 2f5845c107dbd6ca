"""Strategies that crash, hang or lie: each leaves a row that says so, and harms no other trial."""

import errno
import json
import math
import signal
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import psutil
import pytest

from inflight import strategies
from inflight.bench.measure import held, host, process, server
from inflight.bench.measure.crawl import run_trial
from inflight.bench.measure.process import Runtime, Worker, WorkerError
from inflight.bench.measure.server import Server
from inflight.bench.measure.trial import Setting
from inflight.bench.measure.worker.crawl import cause_of
from inflight.bench.plan import trials as plan
from inflight.bench.plan.grid import served
from inflight.bench.plan.trial import Trial
from inflight.bench.rows import records
from inflight.bench.rows.files import SCHEMA_FILE, Row
from inflight.bench.rows.kinds import CrawlWorkload
from inflight.fake_server.site import SiteConfig
from tests.measure.workshop import Workshop, experiment
from tests.patience import FOREVER_S, until

VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text("utf-8")))

ENDINGS = {
    # strategy: (its file behind the imports, the status of its row, what the reason says)
    "raises": (
        "def crawl(job, frontier):\n    raise LookupError('no such\\n thing')",
        "failed",
        "the strategy raised LookupError: no such thing",
    ),
    "raises_a_group": (
        "def crawl(job, frontier):\n    raise ExceptionGroup('some', [ExceptionGroup('more', [ValueError('inner')])])",
        "failed",
        "the strategy raised ValueError: inner",
    ),
    "exits": ("def crawl(job, frontier):\n    sys.exit(7)", "failed", "the strategy raised SystemExit: 7"),
    "exits_at_once": ("def crawl(job, frontier):\n    os._exit(7)", "failed", "the worker exited with 7"),
    "exits_with_words": (
        "def crawl(job, frontier):\n    print('one'); print('last words', flush=True); os._exit(7)",
        "failed",
        "the worker exited with 7: last words",
    ),
    "is_interrupted": (
        "def crawl(job, frontier):\n    raise KeyboardInterrupt",
        "failed",
        "the strategy raised KeyboardInterrupt",
    ),
    "kills_itself": (
        "def crawl(job, frontier):\n    os.kill(os.getpid(), signal.SIGKILL)",
        "failed",
        "the worker was killed by signal 9 (SIGKILL)",
    ),
    "segfaults": (
        "def crawl(job, frontier):\n    import faulthandler\n    faulthandler._sigsegv()",
        "failed",
        "the worker was killed by signal 11 (SIGSEGV)",
    ),
    "aborts": ("def crawl(job, frontier):\n    os.abort()", "failed", "the worker was killed by signal 6 (SIGABRT)"),
    "recurses": (
        "def crawl(job, frontier):\n    crawl(job, frontier)",
        "failed",
        "the strategy raised RecursionError: maximum recursion depth exceeded",
    ),
    "does_not_import": (
        "import no_such_module_anywhere",
        "failed",
        "the worker exited with 1: ModuleNotFoundError: No module named 'no_such_module_anywhere'",
    ),
    "has_no_crawl": (
        "",
        "failed",
        "the strategy raised AttributeError: module 'inflight.strategies.has_no_crawl' has no",
    ),
    "does_nothing": ("def crawl(job, frontier):\n    pass", "wrong", "5 pages missing, 0 too many, 0 different"),
    "stops_early": (
        "def crawl(job, frontier):\n    frontier.done = False",
        "failed",
        "the strategy raised AttributeError",
    ),
    "forgets_one": (
        "def crawl(job, frontier):\n    honest(job, frontier)\n    frontier.finished.pop()",
        "wrong",
        "1 pages missing, 0 too many, 0 different; for example /",
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
        "wrong",
        "0 pages missing, 1 too many, 0 different; for example /more",
    ),
    "lies_about_the_status": (
        "def crawl(job, frontier):\n    honest(job, frontier)\n    frontier.finished[0].status = 404",
        "wrong",
        "1 different; for example /: expected status 200 with 1200 bytes, got status 404 with 1200 bytes",
    ),
    "lies_about_the_size": (
        "def crawl(job, frontier):\n    honest(job, frontier)\n    frontier.finished[0].size -= 1",
        "wrong",
        "1 different; for example /: expected status 200 with 1200 bytes, got status 200 with 1199 bytes",
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
        "wrong",
        "for example /: expected status 200 with 1200 bytes, got a failure",
    ),
    "finishes_twice": (
        (
            "def crawl(job, frontier):\n"
            "    finish = frontier.finish\n"
            "    frontier.finish = lambda fetch, response: (finish(fetch, response), finish(fetch, response))[0]\n"
            "    honest(job, frontier)"
        ),
        "failed",
        "was finished twice",
    ),
    "closes_its_input": (
        "def crawl(job, frontier):\n    honest(job, frontier)\n    sys.stdin.close()",
        "failed",
        "the worker exited with 1: ValueError: I/O operation on closed file.",
    ),
    "closes_every_descriptor": (
        "def crawl(job, frontier):\n    honest(job, frontier)\n    os.closerange(0, 100)",
        "failed",
        "the worker exited with 1",
    ),
    "closes_every_descriptor_and_stays": (
        "def crawl(job, frontier):\n    os.closerange(0, 100)\n    signal.pause()",
        "failed",
        "the worker closed its output but is still running",
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
        "failed",
        r"the worker sent an invalid message: b'rub\xffbish'",
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
        "failed",
        "the worker",
    ),
    "prints": (
        (
            "def crawl(job, frontier):\n"
            '    print(\'{"event": "crawled"}\', flush=True)\n'
            "    os.write(1, b'rubbish')\n"
            "    subprocess.run(['echo', 'rubbish'], check=True)\n"
            "    honest(job, frontier)"
        ),
        "ok",
        None,
    ),
    "leaves_a_thread": (
        (
            "def crawl(job, frontier):\n"
            "    honest(job, frontier)\n"
            "    threading.Thread(target=threading.Event().wait).start()"
        ),
        "ok",
        None,
    ),
    "plain_honest": ("def crawl(job, frontier):\n    honest(job, frontier)", "ok", None),
    "kills_the_server": (
        "def crawl(job, frontier):\n    [server.kill() for server in servers()]\n    honest(job, frontier)",
        "failed",
        "the fake server died during the trial (the fake server was killed by signal 9 (SIGKILL))",
    ),
    "needs_what_is_not_there": (
        "def crawl(job, frontier): ...",
        "skipped",
        "needs no-such-distribution, which is not installed",
    ),
}
NEEDS = {"needs_what_is_not_there": ("no-such-distribution", "psutil")}
SEED = 60
"""Puts trials after that which kills the server; the test says if it no longer does."""


@pytest.fixture(scope="module")
def endings(workshop: Workshop) -> dict[str, Row]:
    """Return the rows in the order in which they were made: each strategy is one file, without registration."""
    for name, (body, _, _) in ENDINGS.items():
        workshop.add_strategy(name, body, NEEDS.get(name, ()))
    return {row.strategy: row for row in workshop.measure(experiment(*ENDINGS, seed=SEED))}


def test_each_end_of_a_worker_has_its_reason(endings: dict[str, Row]) -> None:
    assert endings.keys() == ENDINGS.keys()
    for name, (_, status, words) in ENDINGS.items():
        row = endings[name]
        assert row.status == status, (name, row.reason)
        assert row.valid is False or status == "ok"
        assert row.reason is None if words is None else words in (row.reason or ""), (name, row.reason)
        assert "\n" not in row.to_json()
        assert records.read(row.to_json()) == row
        VALIDATOR.validate(json.loads(row.to_json()))


def test_a_wrong_answer_keeps_its_figures_and_has_an_invalid_check(endings: dict[str, Row]) -> None:
    for name in ("forgets_one", "lies_about_the_size", "fails_all"):
        row = endings[name]
        assert row.measured.makespan_ns > 0
        assert "answer correct" in [check.name for check in row.failed_checks]


def test_failed_pages_are_no_throughput(endings: dict[str, Row]) -> None:
    measured = endings["fails_all"].measured

    assert (measured.pages, measured.failed_pages, measured.pages_per_s) == (1, 1, 0)
    assert "no unexpected failures" in [check.name for check in endings["fails_all"].failed_checks]


def test_what_was_known_before_a_crash_is_kept(endings: dict[str, Row]) -> None:
    skipped = endings["needs_what_is_not_there"]

    assert endings["raises"].knobs.strategy == "raises"
    assert '"knobs":{}' in endings["does_not_import"].to_json()
    assert all(f'"{part}":{{}}' in skipped.to_json() for part in ("measured", "server", "knobs"))


def test_a_server_that_died_is_replaced(endings: dict[str, Row]) -> None:
    order = list(endings)

    later = order[order.index("kills_the_server") + 1 :]

    assert {"ok", "wrong"} < {endings[name].status for name in later}


def trial_of(workshop: Workshop, strategy: str, kind: Any = "crawl", in_flight: int = 1) -> Trial:
    site = SiteConfig(pages=5, links=2 if kind == "crawl" else 0)
    workload = CrawlWorkload(id="test", in_flight=in_flight, connection="keep-alive", **served(site))
    described = strategies.describe(strategy, workshop.folder / "inflight" / "strategies")
    return plan.trial_of(kind, 1, workload, replace(described, most_in_flight=None))


def setting_of(workshop: Workshop) -> Setting:
    return Setting("run", host.ANY, lambda _: FOREVER_S, runtime=Runtime(strategies=workshop.folder))


def test_a_worker_that_hangs_is_killed_at_its_deadline_with_its_children(
    fake: Server, workshop: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    workshop.add_strategy(
        "hangs_with_children",
        "def crawl(job, frontier):\n"
        "    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):\n"
        "        signal.signal(number, signal.SIG_IGN)\n"
        "    waiting = [sys.executable, '-c', 'import signal; signal.pause()']\n"
        "    children = [subprocess.Popen(waiting) for _ in range(2)]\n"
        "    if not (child := os.fork()):\n"
        "        signal.pause()\n"
        f"    with open('{pids}.new', 'w') as file:\n"
        "        file.write(repr([os.getpid(), child, *(child.pid for child in children)]))\n"
        f"    os.replace('{pids}.new', '{pids}')\n"
        "    signal.pause()",
    )
    clock = SimpleNamespace(monotonic=lambda: math.inf if pids.exists() else 0.0)  # the deadline comes when it hangs
    monkeypatch.setattr(process, "time", clock)

    row = run_trial(trial_of(workshop, "hangs_with_children"), fake, setting_of(workshop))

    assert (row.status, row.reason) == ("timeout", "the worker did not finish by its deadline and was killed")
    assert row.knobs.strategy == "hangs_with_children"
    family = json.loads(pids.read_text("utf-8"))
    assert len(family) == 4
    until(lambda: not any(map(_runs, family)))


def test_a_failed_memory_trial_does_not_close_the_gate_for_the_next(
    fake: Server, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kill(_base: object, _stage: str, worker: Worker, _server: Server) -> dict[str, Any]:
        worker.process.kill()
        raise WorkerError(worker.obituary())

    def run(strategy: str, kind: str) -> tuple[str, str | None]:
        row = run_trial(trial_of(workshop, strategy, kind, in_flight=3), fake, setting_of(workshop))
        return row.status, row.reason

    with monkeypatch.context() as patch:
        patch.setattr(held, "layers_since", kill)
        assert run("callbacks", "memory") == ("failed", "the worker was killed by signal 9 (SIGKILL)")
    with monkeypatch.context() as patch:
        seen = [0]
        clock = SimpleNamespace(
            monotonic=lambda: math.inf if seen[-1] else 0.0,  # the deadline comes when one is held
            monotonic_ns=int,
            sleep=lambda _: seen.append(fake.stats()["in_flight"]),
        )
        patch.setattr(held, "time", clock)
        too_few = "only 1 of 3 fetches were in flight at the deadline"
        assert run("sequential", "memory") == ("timeout", too_few)
    assert run("callbacks", "memory") == run("callbacks", "crawl") == ("ok", None)


def test_a_server_that_does_not_answer_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LAST_S", 0)
    with server.running(None, answer_s=0.1) as silent:
        silent.process.send_signal(signal.SIGSTOP)

        with pytest.raises(server.ServerError, match="the fake server does not answer"):
            silent.stats()

        until(lambda: not silent.alive)


def test_a_server_that_was_killed_is_named_with_its_signal_even_if_it_left_a_command_unread() -> None:
    with server.running(None) as killed:
        killed.process.send_signal(signal.SIGSTOP)
        killed.control.sendall(b'{"do": "stats"}\n')
        killed.process.kill()
        killed.process.wait()

        with pytest.raises(server.ServerError) as lost:
            killed.stats()

        assert str(lost.value) == "the fake server was killed by signal 9 (SIGKILL)"


def _runs(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
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
