"""Arms that raise, hang, lie or exceed the cap: each has a row that says so, and does not stop the others."""

import re
from dataclasses import replace
from typing import Any

import pytest

from inflight.bench.measure.blocks import block
from inflight.bench.measure.process import Worker
from inflight.bench.measure.server import Server
from inflight.bench.rows.kinds import Arm
from tests.measure.made_engine import CYCLES, GOOD, assert_good, block_of, children, run, running
from tests.measure.workshop import Workshop
from tests.patience import FOREVER_S, until

BAD_CAP, SLOW_CAP = 2, 3
CPU_S = 0.5
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
    "dies_by_a_signal_without_a_name": (
        "def crawl(job, frontier):\n    os.kill(os.getpid(), 40)",
        ("failed", "the worker was killed by signal 40$"),
    ),
    "exits": ("def crawl(job, frontier):\n    os._exit(7)", ("failed", "the worker exited with 7")),
    "has_no_crawl": (
        "",
        ("failed", "AttributeError: module 'inflight.strategies.has_no_crawl' has no attribute 'crawl'"),
    ),
    "writes_rubbish": (
        "def crawl(job, frontier):\n    os.write(3, b'{rubbish\\n')",
        ("failed", "the worker sent an invalid message: b'{rubbish'"),
    ),
    "says_what_is_not_due": (
        'def crawl(job, frontier):\n    os.write(3, b\'{"event": "answer"}\\n\')',
        ("failed", "the worker sent 'answer' instead of 'crawled'"),
    ),
    "forgets_a_try": (  # its answer is that of the site, but the server counts one request more
        "def crawl(job, frontier):\n    honest_callbacks(job, frontier)\n    frontier.finished.tries -= 1",
        ("ok", ""),
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
        (
            "def crawl(job, frontier):\n"
            "    finish = frontier.finish\n"
            "    frontier.finish = lambda fetch, response: finish(fetch, response._replace(size=response.size - 1))\n"
            "    honest_callbacks(job, frontier)"
        ),
        ("wrong", "expected status 200 with 1200 bytes, got status 200 with 1199"),
    ),
    "lies_about_a_url": (
        "def crawl(job, frontier):\n    honest_callbacks(job, frontier)\n    frontier.finished.urls[0] += '0'",
        ("wrong", "came twice, skipped a lap, or is not a page of the site"),
    ),
    "spins": (
        "def crawl(job, frontier):\n    while True:\n        pass",
        ("failed", "0 of 2 in flight after 0.5 s of CPU time"),
    ),
}
SLOW = {
    "never_reaches_its_cap": (
        "def crawl(job, frontier):\n    honest(job, frontier)",
        ("failed", "[01] of 3 in flight 0 s after the gate was closed"),
    ),
    "hangs": (
        "def crawl(job, frontier):\n    signal.pause()",
        ("failed", "0 of 3 in flight 0 s after the gate was closed"),
    ),
}
"""Arms for which a block does not wait here; it waits for all others."""
SILENT = {
    ("hangs_in_the_end", "crawled"): (
        "def crawl(job, frontier):\n    honest_callbacks(job, frontier)\n    signal.pause()",
        ("timeout", "the worker did not send 'crawled' within 0 s and was killed"),
    ),
    ("hangs_when_imported", "ready"): (
        "signal.pause()",
        ("timeout", "the worker did not send 'ready' within 0 s and was killed"),
    ),
}
WRONG = BAD | SLOW | {name: told for (name, _), told in SILENT.items()}
LEFT = 9
"""Number of bad arms that may fail after the first slice."""


def test_each_failing_arm_has_a_reason_and_stops_no_other(
    fake: Server, workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, (body, _) in WRONG.items():
        workshop.add_strategy(name, "import dataclasses\n\n\n" + body)
    before, measure, speaking, slices = children(), block._slice, block._speaking, []

    def look_first(one: block.Running, **others: Any) -> None:
        until(lambda: len(running(children() - before)) <= len(GOOD) + LEFT)  # the others were killed
        slices.append(one.arm.name)
        measure(one, **others)

    def speaking_now(one: block.Running, event: str, *others: Any) -> Worker:
        with monkeypatch.context() as patch:
            if (one.arm.name, event) in SILENT:
                patch.setattr(block, "_patience_s", lambda *_: 0.0)
            return speaking(one, event, *others)

    monkeypatch.setattr(block, "_patience_s", lambda pages, _: 0.0 if pages == SLOW_CAP else FOREVER_S)
    monkeypatch.setattr(block, "_slice", look_first)
    monkeypatch.setattr(block, "_speaking", speaking_now)
    bad = [Arm(name, name, "compared", in_flight=SLOW_CAP if name in SLOW else BAD_CAP) for name in WRONG]

    rows = run(replace(block_of([*GOOD, *bad]), patience_s=CPU_S), fake, workshop.folder)

    assert [check.name for check in rows["forgets_a_try"].failed_checks] == ["requests counted alike"]
    for name, (_, (status, words)) in WRONG.items():
        row = rows.pop(name)
        assert (row.status, row.valid) == (status, False), row.reason
        assert re.search(words, row.reason or ""), row.reason
    for row in rows.values():
        assert_good(row)
    assert all(slices.count(arm.name) == CYCLES for arm in GOOD)


def test_the_patience_with_an_arm_depends_on_its_cap_and_its_cpu_work() -> None:
    trial = block_of(GOOD, cpu="10ms")

    assert block._patience_s(3000, trial) == block.DRAIN_S + 3000 * 0.01 + 5 * 3000 * 0.01
    assert block._patience_s(10, block_of(GOOD)) == block.DRAIN_S + 0.1
