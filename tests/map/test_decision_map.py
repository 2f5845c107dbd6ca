"""The winners of the map, on made rows and on simulated noise."""

import json
import math
from collections.abc import Mapping, Sequence
from random import Random

import pytest

from inflight.bench.core import cells as c
from inflight.bench.rows.files import Row
from inflight.bench.rows.records import changed
from inflight.bench.studies.decision_map.read import Map, Tile, decide
from tests.made_rows import arm_row, crawl_row
from tests.map.made_maps import CAPS, LATENCIES, MODELS, WORKS, map_rows

NAMES = ("callbacks", "generators", "native_asyncio", "thread_pool")


def rows_at(
    rates: Mapping[str, float], *, rounds: int = 3, noise: float = 0.0, shift: float = 0.0, in_flight: int = 100,
    random: Random | None = None,
) -> list[Row]:  # fmt: skip
    """Make the rows of one workload: noise of each row, and a shift that all rows of a round have together."""
    chance = random or Random(1)
    found = []
    for number in range(1, rounds + 1):
        together = chance.gauss(0, shift)
        for name, per_s in rates.items():
            moved = per_s * math.exp(together + chance.gauss(0, noise))
            found.append(arm_row(name, in_flight=in_flight, number=number, pages_per_s=moved))
    return found


def the_tile(rows: Sequence[Row], only: Sequence[str] | None = None) -> Tile:
    (tile,) = decide(c.cells(rows), only).tiles
    return tile


def simulated(rates: Mapping[str, float], noise: float, maps: int) -> list[Map]:
    """Return maps of ten workloads each, three rounds, with noise of each row and of each round."""
    random = Random(7)
    return [
        decide(
            c.cells(
                row
                for cap in range(1, 11)
                for row in rows_at(rates, noise=noise, shift=noise, in_flight=cap, random=random)
            )
        )
        for _ in range(maps)
    ]


def test_without_differences_almost_no_workload_has_a_winner() -> None:
    tiles = [tile for one in simulated(dict.fromkeys(NAMES, 1000.0), 0.05, 60) for tile in one.tiles]

    winners = sum(tile.verdict == "winner" for tile in tiles)

    assert len(tiles) == 600
    assert winners / len(tiles) < 0.05


def test_the_really_best_is_hardly_ever_beaten_by_a_false_winner() -> None:
    rates = {"callbacks": 1030.0, "generators": 1000.0, "native_asyncio": 1000.0, "thread_pool": 1000.0}

    tiles = [tile for one in simulated(rates, 0.05, 40) for tile in one.tiles]

    false = sum(tile.verdict == "winner" and tile.best != ("callbacks",) for tile in tiles)
    assert false / len(tiles) < 0.025


def test_a_planted_half_is_mostly_found() -> None:
    rates = {"callbacks": 1500.0, "generators": 1000.0, "native_asyncio": 1000.0, "thread_pool": 1000.0}

    tiles = [tile for one in simulated(rates, 0.03, 30) for tile in one.tiles]

    assert sum(tile.best == ("callbacks",) for tile in tiles) / len(tiles) > 2 / 3
    covered = [one for tile in tiles for one in tile.ranking if one.strategy == "generators" and one.low is not None]
    assert sum(one.low < math.log(1.5) < (one.high or 0) for one in covered if one.low is not None) > 0.9 * len(covered)


def test_a_change_of_a_whole_round_hides_no_difference() -> None:
    tile = the_tile(rows_at({"callbacks": 1100.0, "thread_pool": 1000.0}, noise=0.003, shift=0.3))

    assert (tile.verdict, tile.best) == ("winner", ("callbacks",))
    assert tile.runner_up is not None
    assert tile.runner_up.behind == pytest.approx(math.log(1.1), abs=0.01)


def test_less_than_two_percent_is_never_a_win() -> None:
    assert the_tile(rows_at({"callbacks": 1015.0, "thread_pool": 1000.0})).verdict == "no significant difference"
    assert the_tile(rows_at({"callbacks": 1030.0, "thread_pool": 1000.0})).verdict == "winner"


def test_rounds_that_agree_to_the_last_digit_are_not_infinitely_sure() -> None:
    tile = the_tile(rows_at({"callbacks": 1030.0, "thread_pool": 1000.0}))

    assert tile.runner_up is not None
    assert tile.runner_up.low is not None
    assert tile.runner_up.high is not None
    assert 0 < tile.runner_up.high - tile.runner_up.low < 0.02


def test_strategies_without_common_rounds_are_compared_unpaired() -> None:
    rows = [
        crawl_row(name, number=number, pages_per_s=rate + number)
        for name, rate, numbers in (("a", 2000.0, (1, 2, 3)), ("b", 1000.0, (4, 5, 6)))
        for number in numbers
    ]

    assert the_tile(rows).best == ("a",)


def test_strategies_tied_with_the_fastest_are_named_together() -> None:
    tile = the_tile(rows_at({"callbacks": 2000.0, "generators": 1990.0, "thread_pool": 1000.0}, noise=0.01))

    assert tile.verdict == "no significant difference"
    assert set(tile.best) == {"callbacks", "generators"}
    assert tile.slowest is not None
    assert tile.slowest.strategy == "thread_pool"
    assert tile.slowest.apart


def test_a_workload_noisier_than_the_rest_is_judged_by_its_own_noise() -> None:
    random = Random(3)
    quiet = [row for cap in range(2, 12) for row in rows_at(dict.fromkeys(NAMES, 1000.0), noise=0.002, in_flight=cap)]
    noisy = rows_at(dict.fromkeys(NAMES, 1000.0), noise=0.3, in_flight=1, random=random)

    tiles = {tile.point.in_flight: tile for tile in decide(c.cells([*quiet, *noisy])).tiles}

    loud, calm = tiles[1].runner_up, tiles[2].runner_up
    assert loud is not None
    assert calm is not None
    assert (loud.high or 0) - loud.behind > 2 * ((calm.high or 0) - calm.behind)
    assert tiles[1].verdict == "no significant difference"


def test_one_round_is_not_known() -> None:
    tile = the_tile(rows_at({"callbacks": 3000.0, "thread_pool": 1000.0}, rounds=1))

    assert (tile.verdict, tile.why, tile.best) == ("not known", "one round", ())
    assert [one.strategy for one in tile.ranking] == ["callbacks", "thread_pool"]


def test_one_round_is_not_known_even_where_the_noise_of_other_workloads_is() -> None:
    rates = {"callbacks": 3000.0, "thread_pool": 1000.0}
    rows = [*rows_at(rates, rounds=1, in_flight=1), *rows_at(rates, rounds=2, in_flight=2)]

    once, twice = decide(c.cells(rows)).tiles

    assert (once.verdict, once.why, once.best) == ("not known", "one round", ())
    assert (twice.verdict, twice.best) == ("winner", ("callbacks",))


def test_a_round_without_throughput_is_left_out_and_one_below_a_page_a_second_counts() -> None:
    rows = rows_at({"callbacks": 0.9, "thread_pool": 0.5}, noise=0.001)
    rows[0] = changed(rows[0], status="failed", reason="it crashed", measured={}, checks=())

    tile = the_tile(rows)

    assert (tile.verdict, tile.best) == ("winner", ("callbacks",))
    assert [one.rounds for one in tile.ranking] == [2, 3]
    assert [one.per_s for one in tile.ranking] == pytest.approx([0.9, 0.5], rel=0.01)


def test_invalid_rows_never_count() -> None:
    rows = rows_at({"callbacks": 1500.0, "thread_pool": 1000.0}, noise=0.001)
    rows += [arm_row("generators", number=number, pages_per_s=9000.0, invalid=True) for number in (1, 2, 3)]

    tile = the_tile(rows)

    assert tile.best == ("callbacks",)
    assert tile.without == ("generators",)


def test_a_strategy_with_one_valid_round_of_three_is_not_compared() -> None:
    rows = rows_at({"callbacks": 1500.0, "thread_pool": 1000.0}, noise=0.001)
    rows += [arm_row("generators", number=number, pages_per_s=9000.0, invalid=number > 1) for number in (1, 2, 3)]

    tile = the_tile(rows)

    assert (tile.best, tile.without) == (("callbacks",), ("generators",))


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (rows_at({"callbacks": 1000.0}), "only one strategy has valid trials"),
        ([crawl_row(status="failed", number=number) for number in (1, 2)], "no valid trial"),
    ],
)
def test_without_two_strategies_to_compare_nothing_is_known(rows: list[Row], why: str) -> None:
    tile = the_tile(rows)

    assert (tile.verdict, tile.why, tile.best) == ("not known", why, ())


def test_clients_with_a_stack_of_their_own_take_no_part() -> None:
    rows = rows_at({"callbacks": 1500.0, "thread_pool": 1000.0}, noise=0.001)
    rows += [crawl_row("aiohttp_client", number=number, pages_per_s=9000.0, stack="own") for number in (1, 2, 3)]

    assert the_tile(rows).best == ("callbacks",)
    assert decide(c.cells(rows)).strategies == ("callbacks", "thread_pool")


def test_two_strategies_can_be_compared_alone() -> None:
    rows = rows_at(dict(zip(NAMES, (3000.0, 2000.0, 1500.0, 1000.0), strict=True)), noise=0.01)

    both = decide(c.cells(rows), ("thread_pool", "native_asyncio"))

    (tile,) = both.tiles
    assert tile.best == ("native_asyncio",)
    assert [one.strategy for one in tile.ranking] == ["native_asyncio", "thread_pool"]
    assert tile.runner_up is not None
    assert math.exp(tile.runner_up.behind) == pytest.approx(1.5, rel=0.03)


def test_each_latency_each_work_and_each_number_in_flight_is_a_workload_of_its_own() -> None:
    found = decide(c.cells(map_rows()))

    assert len(found.tiles) == len(LATENCIES) * len(WORKS) * len(CAPS)
    assert found.strategies == tuple(sorted(MODELS))
    by_work = {tile.point.cpu: tile for tile in found.tiles if (tile.point.latency, tile.point.in_flight) == ("0", 100)}
    assert by_work["0"].best == ("callbacks",)
    assert len(by_work["10ms"].best) == len(MODELS)


def test_other_connections_are_another_part_of_the_map() -> None:
    rows = map_rows(latencies=("0", "10ms"), works=("0",), caps=(1, 10))
    rows += [crawl_row(name, number=n, connection="per-fetch") for name in ("callbacks", "thread_pool") for n in (1, 2)]

    found = decide(c.cells(rows))

    first, second = found.settings()
    assert (first[0], second[0]) == ("keep-alive", "per-fetch")
    assert len(found.of(first).tiles) == 4
    assert len(found.of(second).tiles) == 1


def test_crawls_of_another_number_of_pages_are_another_workload() -> None:
    rows = [
        crawl_row(name, in_flight=10, number=number, pages=pages, pages_per_s=rate)
        for pages, rates in ((100, (1000.0, 2000.0)), (1000, (2000.0, 1000.0)))
        for name, rate in zip(("callbacks", "thread_pool"), rates, strict=True)
        for number in (1, 2)
    ]

    found = decide(c.cells(rows))

    best = {json.loads(tile.point.site)["pages"]: tile.best for tile in found.tiles}
    assert best == {"100": ("thread_pool",), "1,000": ("callbacks",)}
    assert len(found.settings()) == 2
