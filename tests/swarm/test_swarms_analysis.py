"""Rows of swarms to figures: times, bytes in layers two ways, who stopped them, who was lost."""

import json

import jsonschema
import pytest

from bench.core.figures import Slope
from bench.core.records import changed
from bench.core.rows import SCHEMA_FILE, Row
from bench.studies.swarm.read import cost, full_points, settings, swarms
from bench.studies.swarm.read_row import (
    LAYERS,
    added_bytes,
    all_added_bytes,
    bound_by,
    late,
    lost,
    reach_per_s,
    released_ns,
    timeline,
)
from tests.made_rows import crawl_row
from tests.swarm.made_swarm_rows import PID_MAX, SIZES, S, c100k_run, every_kind, lossy_row, skipped_row, swarm_row


@pytest.mark.parametrize("row", every_kind(), ids=lambda row: row.trial)
def test_the_made_rows_are_rows_as_the_schema_has_them(row: Row) -> None:
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))

    jsonschema.Draft202012Validator(schema).validate(json.loads(row.to_json()))
    assert Row.from_json(row.to_json()) == row


def test_a_swarm_is_all_rounds_of_one_strategy_at_one_size_and_ramp() -> None:
    found = swarms([*c100k_run(2), swarm_row(ramp_per_s=5_000), crawl_row()])

    assert len(found) == len(c100k_run()) + 1
    assert [len(swarm.rows) for swarm in found if swarm.ramp_per_s is None] == [2] * len(c100k_run())
    assert [swarm.asked for swarm in found if swarm.strategy == "generators"] == list(SIZES)


def test_bytes_of_a_layer_are_what_was_added_since_before_the_order() -> None:
    row = swarm_row("thread_pool", 10_000, noise=0)

    assert added_bytes(row, "kernel stacks") == 10_000 * 16_384
    assert added_bytes(row, "slab and sockets") == 10_000 * 8_700
    assert added_bytes(row, "server") == 10_000 * (4_200 + 9) - 9_000
    assert all_added_bytes(row) == sum(added_bytes(row, layer) or 0 for layer in LAYERS)


def test_a_single_size_is_divided_and_five_sizes_are_a_slope() -> None:
    one, five = cost(swarms([swarm_row()])), cost(swarms([swarm_row(asked=n) for n in SIZES]))

    assert one is not None
    assert five is not None
    assert (one.slope, one.sizes, one.largest) == (None, 1, 100_000)
    assert one.full == pytest.approx(14_212, abs=1)
    assert isinstance(five.slope, Slope)
    assert five.slope.sizes == 5
    assert five.full == pytest.approx(14_212, abs=1)
    assert five.layers["client user"] == pytest.approx(1_300, abs=1)
    assert five.kernel == pytest.approx(8_703, abs=1)
    assert five.taken == pytest.approx(14_212 * 1.04, abs=1)


def test_what_others_disturbed_is_unknown_of_the_system_and_known_of_the_processes() -> None:
    found = cost(swarms([swarm_row(disturbed="another program started 40 processes")]))

    assert found is not None
    assert (found.full, found.kernel, found.taken) == (None, None, None)
    assert found.layers["client user"] == pytest.approx(1_300, abs=1)
    assert found.layers["slab and sockets"] is None


def test_red_trials_cost_nothing_and_are_readings_of_their_own() -> None:
    found = swarms([swarm_row(red="no listen drops")])

    assert cost(found) is None
    assert full_points(found) == []
    assert len(full_points(found, valid=False)) == 1


def test_the_limit_that_stopped_a_swarm_has_its_name() -> None:
    row = swarm_row("thread_pool", planned=29_000, bound_by=PID_MAX)
    bound = bound_by(row)

    assert bound is not None
    assert (bound.name, bound.allows) == ("kernel.pid_max", 29_000)
    assert swarms([row])[0].bound == bound
    assert bound_by(swarm_row()) is None


def test_who_was_lost_or_late_is_said_in_words() -> None:
    row = lossy_row()
    [sentence] = lost(row)

    assert sentence == (
        "strategy process of share 1 (pid 4321) was killed by signal 9 (SIGKILL), 4.0 s after the order, "
        "with 16,666 in flight"
    )
    assert late(row) == ["Locust worker node-2 came late, 9.0 s after the order"]


@pytest.mark.parametrize("strange", [None, 3, "x", [1, "y", {}], [{"how": None, "at_ns": "soon", "in_flight": None}]])
def test_strange_losses_break_nothing(strange: object) -> None:
    row = swarm_row(more={"lost": strange, "late": strange, "bound_by": strange})

    assert all("lost" in sentence for sentence in lost(row))
    assert len(late(row)) == len(lost(row))
    assert bound_by(row) is None


@pytest.mark.parametrize(
    "line",
    [None, {}, {"at_ns": [1], "held": [1]}, {"at_ns": [1], "held": [1, 2], "used_bytes": [1]},
     {"at_ns": ["1"], "held": [1], "used_bytes": [1]}, {"at_ns": [1], "held": [None], "used_bytes": [1]}],
)  # fmt: skip
def test_a_time_line_that_is_none_is_empty(line: object) -> None:
    assert timeline(swarm_row(more={"timeline": line})) == []


def test_a_time_line_may_not_know_the_memory() -> None:
    line = {"at_ns": [2, 1], "held": [5, 4], "used_bytes": [None, 7]}

    assert timeline(swarm_row(more={"timeline": line})) == [(1, 4, 7), (2, 5, None)]


def test_the_rate_of_reaching_and_the_release_follow_from_the_times() -> None:
    row = swarm_row(noise=0)

    assert reach_per_s(row) == pytest.approx(100_000 / 6.2)
    assert released_ns(row) == 6_200_000_000 + 2 * S


def test_a_trial_that_never_had_all_has_no_time_to_reach() -> None:
    [swarm] = swarms([lossy_row()])

    assert swarm.middle is not None
    assert not swarm.valid
    assert reach_per_s(swarm.middle) is None


def test_a_trial_that_never_started_has_no_figures() -> None:
    [swarm] = swarms([skipped_row()])

    assert (swarm.shown, swarm.middle, swarm.valid) == ((), None, False)


def test_swarms_of_different_sites_are_not_put_together() -> None:
    found = swarms([*c100k_run(), swarm_row(body_bytes=1200)])

    assert len(settings(found)) == 2
    assert found[-1].setting == settings(found)[1]


def test_the_order_of_rows_does_not_matter() -> None:
    rows = every_kind()

    assert [(s.strategy, s.asked) for s in swarms(rows)] == [(s.strategy, s.asked) for s in swarms(rows[::-1])]


def test_a_round_that_held_none_is_no_basis_of_a_quotient() -> None:
    row = swarm_row()

    assert cost(swarms([changed(row, measured=row.measured | {"held_in_flight": 0})])) is None
