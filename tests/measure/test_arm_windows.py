"""The windows of an arm by each clock, and what a block concludes from its counts: pure functions.

``block_beside_a_neighbour.json`` is a block that was really measured: two of its arms without added latency, with 100
in flight, while another program used half of their core.
"""

import json
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight import strategies
from inflight.bench.measure.blocks import block
from inflight.bench.measure.blocks.block import MIN_SAMPLES, MS, Running, Slice, TooMuchForServerError
from inflight.bench.measure.blocks.run import _figures, _windows
from inflight.bench.measure.blocks.usage import Clock, ProcessClock, Usage
from inflight.bench.measure.process import DEFAULT
from inflight.bench.rows.kinds import Arm
from tests.measure.made_engine import GOOD, block_of

STORED = json.loads(Path(__file__).with_name("block_beside_a_neighbour.json").read_text("utf-8"))
WALL_NS = 20 * MS
WINDOW = Slice(0, Usage(1000, 1001, 5), Usage(WALL_NS, 1000 + WALL_NS, 5 + MS), 7, WALL_NS, 9, 9, 0, 0)
ENDS = [[1500, 1600, 4, 100], [1400 + MS, 1500 + MS, 4 + MS // 2, 160]]


def running(
    clock: Clock = "process clock", *samples: int, failed: bool = False, pids: Sequence[int] = (7,), **other: Any
) -> Running:
    """Make an arm with a window for each number of samples; ``other`` are values of the arm."""
    arm = Arm("callbacks", "callbacks", "compared", **other)
    one = Running(
        arm,
        strategies.describe("callbacks"),
        DEFAULT,
        port=1,
        pids=[*pids],
    )
    one.meter = cast("ProcessClock", SimpleNamespace(name=clock, step_ns=1 if clock == "task clock" else 4 * MS))
    one.outcome = {} if failed else {"windows": [{"samples": number} for number in samples]}
    one.failure = OSError() if failed else None
    return one


def windows(seen: dict[str, Any], clock: Clock, latency: str = "0") -> list[dict[str, Any]]:
    one = running()
    one.slices, one.outcome = [WINDOW], {"windows": [seen]}
    return _windows(block_of(GOOD, latency), one, clock)


def test_a_window_that_was_read_from_outside_has_all_its_pages() -> None:
    assert windows({"pages": 500, "first_ns": 2000, "last_ns": 3000}, "task clock") == [
        {
            "cycle": 0, "late_ns": 9, "begin_ns": 1000, "wall_ns": WALL_NS, "cpu_ns": MS,
            "pages": 500.0,
        }
    ]  # fmt: skip


def test_a_window_that_was_read_in_band_lies_between_two_samples() -> None:
    assert windows({"pages": 500, "samples": 4, "ends": ENDS}, "in band", "10ms") == [
        {
            "cycle": 0, "late_ns": 9, "begin_ns": 1500, "wall_ns": MS, "cpu_ns": MS // 2,
            "pages": 60,
        }
    ]  # fmt: skip


@given(st.integers(2, 1000), st.integers(MS, WALL_NS), st.integers(0, WALL_NS))
def test_with_a_latency_pages_follow_from_the_rate_between_the_first_and_the_last(
    pages: int, between_ns: int, before_ns: int
) -> None:
    first_ns = 1000 + min(before_ns, WALL_NS - between_ns)

    (found,) = windows(
        {
            "pages": pages,
            "first_ns": first_ns,
            "last_ns": first_ns + between_ns,
        },
        "process clock",
        "10ms",
    )

    assert found["pages"] / WALL_NS == pytest.approx((pages - 1) / between_ns, rel=1e-3)


@pytest.mark.parametrize(("pages", "last_ns"), [(0, 1000), (1, 1000), (1, 1500), (7, 1000)])
def test_pages_without_a_time_between_them_are_counted(pages: int, last_ns: int) -> None:
    (found,) = windows({"pages": pages, "first_ns": 1000, "last_ns": last_ns}, "task clock", "10ms")

    assert found["pages"] == pages


def test_a_lateness_that_one_window_lacks_is_that_of_the_others() -> None:
    window = {"cpu_ns": 10, "wall_ns": 20, "pages": 2.0, "late_ns": 7}

    found = _figures([window, window | {"late_ns": None}])

    assert (found["cpu_per_page_ns"], found["cpu_share"], found["late_ns"]) == (5, 0.5, 7)


ENOUGH, FEW = (MIN_SAMPLES, MIN_SAMPLES + 1), MIN_SAMPLES - 1
IN_BAND, OUTSIDE = ("in band", 1000), ("process clock", 4 * MS)


@pytest.mark.parametrize(
    ("arms", "clock"),
    [
        ([], ("task clock", 1)),
        ([running("task clock", *ENOUGH)], ("task clock", 1)),
        ([running("process clock", *ENOUGH)], IN_BAND),
        ([running("process clock", *ENOUGH), running(failed=True)], IN_BAND),
        ([running("process clock", *ENOUGH), running("process clock", *ENOUGH, FEW)], IN_BAND),
        ([running("process clock", *ENOUGH), running("process clock", FEW, FEW)], OUTSIDE),
        ([running("process clock", *ENOUGH), running("process clock", *ENOUGH, cores=2)], OUTSIDE),
        ([running("process clock", *ENOUGH, pids=[7, 8])], OUTSIDE),
    ],
    ids=[
        "no arm",
        "task clock",
        "enough samples",
        "a failed arm",
        "a window with few",
        "no window with enough",
        "two cores",
        "an arm with children",
    ],
)
def test_the_clock_of_a_block_is_the_best_that_all_its_arms_have(arms: list[Running], clock: tuple[Clock, int]) -> None:
    assert block._clock_of(arms) == clock


def stored_arms() -> list[Running]:
    """Return the arms of the stored block, as they were before its clock was chosen."""
    arms = []
    for each in STORED:
        one = running()
        ends = [[[*sample[:3], sample[-1]] for sample in window["ends"]] for window in each["windows"]]
        one.outcome = {"windows": [window | {"ends": of} for window, of in zip(each["windows"], ends, strict=True)]}
        for cycle, begin, end, *others in each["slices"]:  # it also has faults and switches
            one.slices.append(Slice(cycle, Usage(*begin[:3]), Usage(*end[:3]), *others))
        arms.append(one)
    return arms


def test_a_window_with_few_samples_is_dropped_and_the_clock_of_its_block_stays() -> None:
    arms = stored_arms()
    assert [[window["samples"] for window in one.outcome["windows"]] for one in arms] == [
        [11, 12, 7, 5, 7, 6, 6, 0],
        [5, 3, 5, 5, 5, 5, 4, 4],
    ]

    assert block._clock_of(arms) == IN_BAND

    left = [_windows(block_of(GOOD, "0"), one, "in band") for one in arms]
    assert [window["cycle"] for window in left[0]] == [0, 1, 2, 3, 4, 5, 6]
    assert [window["cycle"] for window in left[1]] == [0, 2, 3, 4, 5, 6, 7]
    assert all(window["cpu_ns"] > 0 < window["pages"] for window in (*left[0], *left[1]))


@pytest.mark.parametrize(
    ("strategy", "cores", "is_sampled"),
    [
        ("callbacks", 1, True),
        ("callbacks", 2, False),
        ("null_client", 1, False),
        ("process_pool", 1, False),
    ],
)
def test_what_cannot_be_read_in_band_is_known_before(strategy: str, cores: int, is_sampled: bool) -> None:
    described = strategies.describe(strategy)
    arm = Arm(strategy, strategy, "compared", cores=cores)

    assert block._has_samples(arm, described) is is_sampled


@given(st.lists(st.integers(1, 12), max_size=20), st.lists(st.integers(1, 12), max_size=20))
def test_the_median_lateness_is_that_of_the_responses_between_two_counts(old: list[int], new: list[int]) -> None:
    before, after = ({str(late_ns): n for late_ns, n in Counter(each).items()} for each in (old, old + new))

    assert block.quantile_late_ns(before, after, 0.5) == (statistics.median_low(new) if new else None)
    assert block.quantile_late_ns(before, after, 1.0) == max(new, default=None)


@pytest.mark.parametrize(
    ("busy_ns", "arms_ns", "delay_ns", "shares"),
    [
        (60, 25, 30, (0.35, 0.3)),
        (60, 70, 0, (0.0, 0.0)),
        (250, 0, 140, (1.0, 1.0)),
        (None, 25, None, (None, None)),
    ],
)
def test_what_others_took_is_what_the_arms_did_not_use(
    busy_ns: int | None, arms_ns: int, delay_ns: int | None, shares: tuple[float | None, float | None]
) -> None:
    def at(at_ns: int, *counts_ns: int | None) -> block._Surroundings:
        busy, arms, delay = (None if count_ns is None else 1000 + count_ns for count_ns in counts_ns)
        return block._Surroundings(at_ns, busy, {1: arms or 0}, delay)

    found = at(1100, busy_ns, arms_ns, delay_ns).since(at(1000, 0, 0, 0))

    assert found == pytest.approx(shares)


def with_costs(*costs_ns: float) -> list[Running]:
    arms = [running() for _ in costs_ns]
    for one, cost_ns in zip(arms, costs_ns, strict=True):
        one.response_ns = cost_ns
    return arms


@pytest.mark.parametrize("costs_ns", [(), (0.0,), (70_000.0,), (1e9, 70_000.0, 1e9)])
def test_a_demand_that_leaves_the_server_room_is_measured(costs_ns: tuple[float, ...]) -> None:
    block._check_demand(with_costs(*costs_ns), block_of(GOOD, "10ms"))


def test_a_demand_that_fills_the_server_is_refused_with_its_figures() -> None:
    arms = with_costs(71_000.0, 90_000.0, 0.0)

    block._check_demand(arms, block_of(GOOD, "0"))
    with pytest.raises(TooMuchForServerError, match=r"up to 10,000 pages/s would take 71 % .*, limit 70 %: ask"):
        block._check_demand(arms, block_of(GOOD, "10ms"))


def test_the_rate_of_the_fastest_arm_bounds_the_demand() -> None:
    arms = with_costs(90_000.0, 90_000.0, 0.0)  # the last one failed before its warm-up
    for slow in arms[:2]:
        slow.rate_per_s = 7_000.0

    block._check_demand(arms, block_of(GOOD, "10ms"))
    arms[1].rate_per_s = 8_000.0
    with pytest.raises(TooMuchForServerError, match=r"up to 8,000 pages/s would take 72 %"):
        block._check_demand(arms, block_of(GOOD, "10ms"))


def test_work_per_page_bounds_the_demand() -> None:
    arms = with_costs(71_000.0)
    arms[0].rate_per_s = 1_000.0  # which the warm-up finds with 1 ms of work

    block._check_demand(arms, block_of(GOOD, "10ms", cpu="1ms"))
    arms[0].rate_per_s = 20_000.0
    with pytest.raises(TooMuchForServerError, match=r"up to 10,000 pages/s"):
        block._check_demand(arms, block_of(GOOD, "10ms", cpu="50us"))
