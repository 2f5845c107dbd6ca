"""Rows to races: who takes part, in which order, and where a lane is at a time."""

from typing import Any

import pytest

from inflight.bench.race.lanes import Lane, Race, races
from inflight.bench.race.page import section
from inflight.bench.rows.files import Row
from tests.made_rows import MS, memory_row
from tests.race.made_races import BIN_NS, runner

QUICK, MIDDLE, SLOW = ([0] * n + [10] for n in (9, 19, 39))


def only(*rows: Row) -> Race:
    (race,) = races(rows)
    return race


def lanes(race: Race) -> dict[str, Lane]:
    return {lane.name: lane for lane in race.lanes}


def ranks(*rows: Row) -> dict[str, int | None]:
    return {lane.name: lane.rank for lane in only(*rows).lanes}


def test_lanes_are_ranked_by_time_and_those_without_a_rank_are_last() -> None:
    found = ranks(
        runner("thread_pool", SLOW),
        runner("callbacks", QUICK, invalid=True),
        runner("gevent", QUICK, status="wrong"),
        runner("sequential", [0, 2], in_flight=1),
        runner("generators", MIDDLE),
    )

    assert list(found.items()) == [("generators", 1), ("thread_pool", 2), ("sequential", None), ("callbacks", None)]


@pytest.mark.parametrize(
    ("rounds", "end"),
    [
        ([runner("callbacks", [0] * n + [10], number=n) for n in (11, 12, 30)], 13),
        ([runner("callbacks", QUICK, invalid=True), runner("callbacks", MIDDLE, number=2)], 20),
    ],
    ids=["the median one", "a valid one rather than an invalid one"],
)
def test_a_lane_is_one_round(rounds: list[Row], end: int) -> None:
    assert lanes(only(*rounds, runner("thread_pool", SLOW)))["callbacks"].end_ns == end * BIN_NS


@pytest.mark.parametrize(
    ("change", "joins"),
    [
        ({}, True),
        ({"latency": "10ms"}, False),
        ({"site": {"links": 3}}, False),
        ({"connection": "per-fetch"}, False),
        ({"done": [4] * 10}, False),
        ({"done": [0, 2]}, True),
    ],
    ids=["same site", "other latency", "other site", "other connections", "larger site", "smaller site"],
)
def test_one_who_was_only_measured_alone_joins_on_the_same_site_or_a_smaller_one(
    change: dict[str, Any], joins: bool
) -> None:
    options: dict[str, Any] = {"done": [1] * 10, "in_flight": 1} | change
    guest = runner("sequential", **options)
    race = only(guest, runner("callbacks", QUICK), runner("generators", QUICK))

    assert ("sequential" in lanes(race)) is joins
    assert not joins or (lanes(race)["sequential"].in_flight, race.title) == (1, "50 ms latency, 10 in flight")


def test_a_smaller_site_is_not_finished() -> None:
    rows = [runner("callbacks", QUICK), runner("generators", QUICK), runner("gevent", [0] * 99 + [10])]
    race = only(runner("sequential", [0, 2], in_flight=1), *rows)
    lane = lanes(race)["sequential"]

    assert (race.pages, sum(lane.completions), lane.is_finished, lane.end_ns) == (10, 2, False, 20 * MS)
    assert race.replay_ns == 100 * MS, "much slower lanes end after a replay"


def test_pages_of_a_bin_are_spread_over_it() -> None:
    lane = lanes(only(runner("callbacks", [0, 4, 6]), runner("generators", [0, 4, 6])))["callbacks"]

    assert [lane.at(ms * MS)[0] for ms in (0, 10, 15, 20, 25, 30, 99)] == [0, 0, 2, 4, 7, 10, 10]
    assert [lane.at(ms * MS)[1] for ms in (0, 10, 15, 20, 25, 30, 99)] == [0, 10, 8, 6, 3, 0, 0]


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [runner("callbacks", QUICK)],
        [runner("callbacks", QUICK), runner("callbacks", QUICK, number=2)],
        [runner("callbacks", QUICK), runner("generators", QUICK, latency="10ms")],
        [runner("callbacks", QUICK), runner("generators", QUICK, cut_off=True)],
        [memory_row("callbacks"), memory_row("generators")],
    ],
)
def test_a_race_takes_two_with_time_lines(rows: list[Row]) -> None:
    assert races(rows) == []


@pytest.mark.parametrize(
    ("invalid", "finding"),
    [({"bad", "worse"}, "good: 10 pages in 100 ms"), ({"good", "bad", "worse"}, "")],
)
def test_an_invalid_lane_is_no_finding_and_has_its_reason_below(invalid: set[str], finding: str) -> None:
    shown = section(only(*(runner(name, QUICK, invalid=name in invalid) for name in ("good", "bad", "worse"))))

    assert shown.title == finding
    reasons = [note.split(": ")[0] for note in shown.notes if 'failed "no listen drops"' in note]
    assert set(reasons) == invalid


def test_the_race_with_the_most_lanes_is_first_then_the_longest() -> None:
    fewer = [runner(name, done, latency=latency) for latency, done in (("0", QUICK), ("10ms", SLOW)) for name in "ab"]

    found = races([*fewer, *(runner(name, QUICK) for name in "abc")])

    assert [race.title.partition(" ")[0] for race in found] == ["50", "10", "0"]
