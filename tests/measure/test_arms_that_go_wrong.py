"""Arms that raise, hang, lie or exceed the cap: each has a row that says so, and does not stop the others."""

import re
import time
from dataclasses import replace
from typing import Any

import pytest

from inflight.bench.core.arm import Arm
from inflight.bench.core.rows import Row
from inflight.bench.measure.blocks import block
from inflight.bench.measure.process import Worker
from inflight.bench.measure.server import Server
from tests.measure.made_engine import CYCLES, GOOD, assert_good, block_of, children, run, running
from tests.measure.workshop import Workshop

BAD_CAP = 2
BAD = {
    # strategy: (its file behind the imports, the status of its row, what the row says)
    "raises": (
        "def crawl(job, frontier):\n    raise LookupError('no such\\n thing')",
        ("failed", "the strategy raised LookupError: no such thing"),
    ),
    "raises_later": (
        (
            "def crawl(job, frontier):\n"
            "    finish = frontier.finish\n"
            "    def finish_some(fetch, response):\n"
            "        assert len(frontier.finished) < 9, 'enough'\n"
            "        return finish(fetch, response)\n"
            "    frontier.finish = finish_some\n"
            "    honest_callbacks(job, frontier)"
        ),
        ("failed", "the strategy raised AssertionError: enough"),
    ),
    "exceeds_its_cap": (
        "def crawl(job, frontier):\n    honest_callbacks(dataclasses.replace(job, max_in_flight=9), frontier)",
        ("failed", r"[3-9] in flight, above the cap of 2"),
    ),
    "ends_early": ("def crawl(job, frontier):\n    pass", ("failed", "the crawl ended early")),
    "dies": (
        "def crawl(job, frontier):\n    os.kill(os.getpid(), signal.SIGKILL)",
        ("failed", "the worker was killed by signal 9 \\(SIGKILL\\)"),
    ),
    "does_not_import": (
        "import no_such_module_anywhere",
        ("failed", "the worker exited with 1: ModuleNotFoundError: No module named 'no_such_module_anywhere'"),
    ),
    "raises_in_the_end": (
        "def crawl(job, frontier):\n    honest_callbacks(job, frontier)\n    raise ValueError('after all')",
        ("failed", "the strategy raised ValueError: after all"),
    ),
    "lies_about_a_size": (
        "def crawl(job, frontier):\n    honest_callbacks(job, frontier)\n    frontier.finished[0].size -= 1",
        ("wrong", "expected status 200 with 1200 bytes, got status 200 with 1199"),
    ),
    "forgets_a_page": (
        "def crawl(job, frontier):\n    honest_callbacks(job, frontier)\n    frontier.finished.pop(0)",
        ("wrong", "came twice, skipped a lap, or is not a page of the site"),
    ),
}


SLOW = {
    "never_reaches_its_cap": (
        "def crawl(job, frontier):\n    honest(job, frontier)",
        ("failed", "[01] of 2 in flight 2 s after the gate was closed"),
    ),
    "hangs": (
        "def crawl(job, frontier):\n    time.sleep(1000)",
        ("failed", "0 of 2 in flight 2 s after the gate was closed"),
    ),
    "spins": (
        "def crawl(job, frontier):\n    while True:\n        pass",
        ("failed", "0 of 2 in flight 2 s after the gate was closed"),
    ),
}
LAST = {
    "hangs_in_the_end": (
        "def crawl(job, frontier):\n    honest_callbacks(job, frontier)\n    time.sleep(1000)",
        ("timeout", "the worker did not send 'crawled' within 1 s and was killed"),
    ),
    "hangs_when_imported": (
        "time.sleep(1000)",
        ("timeout", "the worker did not send 'ready' within 1 s and was killed"),
    ),
}


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    made = Workshop(tmp_path_factory.mktemp("workshop"))
    for name, (body, _) in (BAD | SLOW | LAST).items():
        made.add_strategy(name, "import dataclasses\n\n\n" + body)
    return made


def assert_only_this_goes_wrong(rows: dict[str, Row], name: str) -> None:
    status, words = (BAD | SLOW | LAST)[name][1]
    bad = rows.pop(name)
    assert (bad.status, bad.valid) == (status, False)
    assert re.search(words, bad.reason or "")
    for row in rows.values():
        assert_good(row)


@pytest.mark.parametrize("name", BAD)
def test_a_failing_arm_has_a_reason_and_does_not_stop_the_others(fake: Server, workshop: Workshop, name: str) -> None:
    rows = run(block_of([*GOOD, Arm(name, name, in_flight=BAD_CAP)]), fake, workshop.folder)

    assert_only_this_goes_wrong(rows, name)


@pytest.mark.parametrize("name", SLOW)
def test_the_wait_for_an_arm_depends_on_its_cap(
    fake: Server, workshop: Workshop, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block, "DRAIN_S", 0)
    monkeypatch.setattr(block, "EACH_S", 1)  # little for the bad arm, whose cap is low, and much for the others

    rows = run(block_of([*GOOD, Arm(name, name, in_flight=BAD_CAP)]), fake, workshop.folder)

    assert_only_this_goes_wrong(rows, name)


def test_a_block_may_have_less_patience(fake: Server, workshop: Workshop) -> None:
    trial = block_of([*GOOD, Arm("spins", "spins", in_flight=BAD_CAP)])

    rows = run(replace(trial, patience_s=2), fake, workshop.folder)

    assert (rows["spins"].status, rows["spins"].reason) == ("failed", "0 of 2 in flight after 2 s of CPU time")
    for good in GOOD:
        assert_good(rows[good.name])


@pytest.mark.parametrize(("name", "due"), [("hangs_when_imported", "ready"), ("hangs_in_the_end", "crawled")])
def test_a_silent_arm_does_not_use_up_the_time_of_the_others(
    fake: Server, workshop: Workshop, name: str, due: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    speaking = block._speaking

    def speaking_soon(one: block.Running, event: str, *others: Any) -> Worker:
        with monkeypatch.context() as patch:
            if (one.arm.name, event) == (name, due):
                patch.setattr(block, "_patience_s", lambda *_: 1.0)
            return speaking(one, event, *others)

    monkeypatch.setattr(block, "_speaking", speaking_soon)

    rows = run(block_of([*GOOD, Arm(name, name, in_flight=BAD_CAP)]), fake, workshop.folder)

    assert_only_this_goes_wrong(rows, name)


def test_a_failed_arm_does_not_run_beside_the_others(
    fake: Server, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block, "DRAIN_S", 0)
    monkeypatch.setattr(block, "EACH_S", 1)
    before, measure, looks = children(), block._slice, 0

    def look_first(one: block.Running, **others: Any) -> None:
        nonlocal looks
        while len(running(children() - before)) > len(GOOD):  # pytest's own limit ends it
            time.sleep(0.02)
        looks += 1
        measure(one, **others)

    monkeypatch.setattr(block, "_slice", look_first)

    rows = run(block_of([*GOOD, Arm("spins", "spins", in_flight=BAD_CAP)]), fake, workshop.folder)

    assert looks == CYCLES * len(GOOD)
    assert_only_this_goes_wrong(rows, "spins")
