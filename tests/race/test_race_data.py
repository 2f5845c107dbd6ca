"""Rows to races: who takes part, up to which page, in which place."""

import pytest

from inflight.bench.report.answer import answer
from inflight.bench.report.studies import Studies
from inflight.bench.studies.race.read import MOST_LANES, MOST_RACES, Lane, Race, races
from inflight.bench.studies.race.show import finding, notes
from tests.made_rows import MS, edited, memory_row
from tests.race.made_races import BIN_NS, runner

SLOW = [0] * 39 + [10]
MIDDLE = [0] * 19 + [10]
QUICK = [0] * 9 + [10]


def only(*rows: object) -> Race:
    (race,) = races(rows)  # type: ignore[arg-type]
    return race


def lanes(race: Race) -> dict[str, Lane]:
    return {lane.strategy: lane for lane in race.lanes}


def places(race: Race) -> dict[str, int | None]:
    return {lane.strategy: lane.place for lane in race.lanes}


def test_places_follow_the_times() -> None:
    race = only(runner("thread_pool", SLOW), runner("callbacks", QUICK), runner("generators", MIDDLE))

    assert places(race) == {"callbacks": 1, "generators": 2, "thread_pool": 3}
    assert [lane.finish_ns for lane in race.finishers] == [100 * MS, 200 * MS, 400 * MS]
    assert race.duration_ns == 400 * MS
    assert race.title == "50 ms added latency, 10 in flight"


def test_a_lane_is_the_round_with_the_median_time() -> None:
    rounds = [runner("callbacks", [0] * n + [10], number=n) for n in (11, 12, 30)]
    race = only(*rounds, runner("thread_pool", SLOW))

    assert lanes(race)["callbacks"].finish_ns == 13 * BIN_NS


def test_strategies_that_differ_by_less_than_their_rounds_share_a_place() -> None:
    race = only(
        *(runner("callbacks", [0] * n + [10], number=k) for k, n in enumerate((20, 24, 30), 1)),
        *(runner("generators", [0] * n + [10], number=k) for k, n in enumerate((23, 26, 31), 1)),
        *(runner("thread_pool", [0] * n + [10], number=k) for k, n in enumerate((40, 41, 42), 1)),
    )

    assert places(race) == {"callbacks": 1, "generators": 1, "thread_pool": 3}
    assert [race.place_of(lane) for lane in race.lanes] == ["=1st", "=1st", "3rd"]


def test_single_rounds_share_a_place_below_a_fifth() -> None:
    near = runner("generators", QUICK)
    near = edited(near, measured={"makespan_ns": 119 * MS})
    far = runner("thread_pool", QUICK)
    far = edited(far, measured={"makespan_ns": 121 * MS})

    assert places(only(runner("callbacks", QUICK), near, far)) == {"callbacks": 1, "generators": 1, "thread_pool": 3}


def test_an_invalid_lane_runs_without_a_place() -> None:
    race = only(runner("callbacks", QUICK, invalid=True), runner("generators", MIDDLE), runner("thread_pool", SLOW))

    assert places(race) == {"callbacks": None, "generators": 1, "thread_pool": 2}
    assert lanes(race)["callbacks"].invalid == 'failed "server had room": 80 % of its core, limit 70 %'
    assert lanes(race)["callbacks"].finish_ns == 100 * MS


def test_a_valid_round_is_preferred_to_an_invalid_one() -> None:
    race = only(
        runner("callbacks", QUICK, invalid=True), runner("callbacks", MIDDLE, number=2), runner("thread_pool", SLOW)
    )

    assert lanes(race)["callbacks"].finish_ns == 200 * MS
    assert lanes(race)["callbacks"].invalid is None


def test_a_wrong_answer_is_invalid() -> None:
    race = only(runner("callbacks", QUICK, status="wrong"), runner("generators", MIDDLE), runner("thread_pool", SLOW))

    assert lanes(race)["callbacks"].invalid == "wrong: for a reason"


def test_who_was_skipped_or_killed_is_named_with_the_reason() -> None:
    race = only(
        runner("callbacks", QUICK),
        runner("generators", MIDDLE),
        runner("aiohttp_client", QUICK, status="skipped", reason="not installed: aiohttp"),
        runner("older", QUICK, cut_off=True),
    )

    assert set(lanes(race)) == {"callbacks", "generators"}
    assert race.absent == ("aiohttp_client (skipped: not installed: aiohttp)", "older (no time line)")


def test_one_who_is_only_measured_alone_joins_with_1_in_flight() -> None:
    race, *others = races([
        runner("sequential", [0, 1] * 10, in_flight=1), runner("callbacks", QUICK), runner("generators", QUICK)
    ])  # fmt: skip

    assert others == []
    assert race.in_flight == 10
    assert lanes(race)["sequential"].in_flight == 1


def test_one_who_is_also_measured_with_more_in_flight_does_not_join() -> None:
    found = races([
        runner("sequential", SLOW, in_flight=1), runner("callbacks", SLOW, in_flight=1),
        runner("callbacks", QUICK), runner("generators", QUICK),
    ])  # fmt: skip

    assert [(race.in_flight, set(lanes(race))) for race in found] == [
        (10, {"sequential", "callbacks", "generators"}),
        (1, {"sequential", "callbacks"}),
    ]


@pytest.mark.parametrize("other", [{"latency": "10ms"}, {"site": {"links": 3}}, {"connection": "per-fetch"}])
def test_one_on_another_workload_does_not_join(other: dict[str, object]) -> None:
    race = only(
        runner("sequential", SLOW, in_flight=1, **other),  # type: ignore[arg-type]
        runner("callbacks", QUICK),
        runner("generators", QUICK),
    )

    assert set(lanes(race)) == {"callbacks", "generators"}


def test_a_guest_with_more_pages_is_cut_at_the_races_last_one() -> None:
    race = only(runner("sequential", [4] * 10, in_flight=1), runner("callbacks", QUICK), runner("generators", QUICK))
    guest = lanes(race)["sequential"]

    assert race.pages == 10
    assert guest.completions == (4, 4, 2)
    assert guest.finish_ns == 25 * MS, "in the middle of the third bin"
    assert guest.place == 1


def test_a_guest_with_fewer_pages_stops_where_its_recording_ends() -> None:
    race = only(runner("sequential", [0, 2], in_flight=1), runner("callbacks", QUICK), runner("generators", QUICK))
    guest = lanes(race)["sequential"]

    assert (guest.pages, guest.finish_ns, guest.place, guest.end_ns) == (2, None, None, 20 * MS)
    assert race.duration_ns == 100 * MS


def test_pages_of_a_bin_are_spread_over_it() -> None:
    lane = lanes(only(runner("callbacks", [0, 4, 6]), runner("generators", [0, 4, 6])))["callbacks"]

    assert [lane.at(ms * MS)[0] for ms in (0, 10, 15, 20, 25, 30, 99)] == [0, 0, 2, 4, 7, 10, 10]
    assert [lane.at(ms * MS)[1] for ms in (0, 10, 15, 20, 25, 30, 99)] == [0, 10, 8, 6, 3, 0, 0]


def test_samples_are_looked_up_and_never_made_up() -> None:
    race = only(runner("callbacks", [0, 5, 5], sampled=True), runner("thread_pool", [0, 5, 5]))
    sampled, other = lanes(race)["callbacks"], lanes(race)["thread_pool"]

    assert [sampled.sample_at(ms * MS) for ms in (0, 9, 10, 25, 99)] == [None, None, 0, 1, 2]
    assert (sampled.rss_bytes, other.rss_bytes) == (23_000_000, 24_000_000)
    assert (other.samples, other.sample_at(99 * MS)) == (None, None)


def test_a_race_takes_two_and_time_lines() -> None:
    assert races([]) == []
    assert races([runner("callbacks", QUICK)]) == []
    assert races([runner("callbacks", QUICK), runner("callbacks", QUICK, number=2)]) == []
    assert races([runner("callbacks", QUICK), runner("generators", QUICK, latency="10ms")]) == []
    assert races([runner("callbacks", QUICK), runner("generators", QUICK, cut_off=True)]) == []
    assert races([memory_row("callbacks"), memory_row("generators")]) == []


def test_one_valid_lane_is_not_the_last_to_finish() -> None:
    race = only(runner("good"), runner("bad", invalid=True), runner("worse", invalid=True))

    assert finding(race).endswith(" with good, the only valid lane")
    assert sum("are invalid and have no place" in note for note in notes(race)) == 1
    assert any(note.startswith("bad and worse are invalid and have no place: failed ") for note in notes(race))


def test_the_findings_of_a_run_begin_with_its_race() -> None:
    found = [runner("callbacks", QUICK), runner("thread_pool", SLOW)]
    (race,) = races(found)

    assert answer(Studies(found))[0] == f"{finding(race)}."
    assert finding(race).startswith(f"{race.pages} pages took ")


def test_all_invalid_is_still_shown() -> None:
    assert places(only(runner("callbacks", invalid=True), runner("generators", invalid=True))) == {
        "callbacks": None,
        "generators": None,
    }


def test_the_race_with_the_most_between_first_and_last_is_first_and_latencies_take_turns() -> None:
    found = races([
        runner(name, [0] * n + [10], latency=latency, in_flight=cap)
        for latency, cap, last in (("50ms", 10, 60), ("50ms", 100, 99), ("10ms", 10, 40), ("0", 10, 80), ("50ms", 1, 5))
        for name, n in (("callbacks", 10), ("thread_pool", last))
    ])  # fmt: skip

    assert len(found) == MOST_RACES
    assert [(race.latency, race.in_flight) for race in found] == [
        ("50ms", 100), ("10ms", 10), ("0", 10), ("50ms", 10),
    ]  # fmt: skip


def test_cpu_work_is_named_and_keeps_workloads_apart() -> None:
    def working(name: str) -> object:
        row = runner(name, QUICK)
        return edited(row, workload={"id": "with work", "cpu": "2ms", "cpu_ns": 2 * MS})

    found = races([working("a"), working("b"), runner("a", QUICK), runner("b", QUICK)])  # type: ignore[list-item]

    assert {race.title for race in found} == {
        "50 ms added latency, 10 in flight",
        "50 ms added latency, 2 ms of CPU work per page, 10 in flight",
    }


def test_of_too_many_the_fastest_are_shown() -> None:
    race = only(*(runner(f"s{n:02}", [0] * (n + 1) + [10]) for n in range(40)))

    assert race.left_out == 40 - MOST_LANES
    assert sorted(lane.strategy for lane in race.lanes) == [f"s{n:02}" for n in range(MOST_LANES)]
    assert {lane.place for lane in race.lanes if lane.strategy == "s00"} == {1}


def test_equal_titles_are_numbered() -> None:
    found = races([runner(name, QUICK, site=site) for site in ({"links": 1}, {"links": 2}) for name in ("a", "b")])

    assert sorted(race.title[-8:] for race in found) == [", site 1", ", site 2"]


def test_a_replay_ends_with_the_last_lane_that_is_not_much_slower_than_the_median() -> None:
    crawl = [0] * 399 + [10]

    race = only(*(runner(name, done) for name, done in zip("abc", (QUICK, MIDDLE, SLOW), strict=True)))
    with_slow = only(*(runner(name, done) for name, done in zip("abcd", (QUICK, MIDDLE, SLOW, crawl), strict=True)))

    assert race.replay_ns == race.duration_ns == 400 * MS
    assert (with_slow.replay_ns, with_slow.duration_ns) == (400 * MS, 4000 * MS)
