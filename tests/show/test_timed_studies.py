"""Studies of timed trials: findings, tables, JSON and plots from the frame of made rows."""

import math
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

from inflight.bench.rows.files import Row
from inflight.bench.show.sections import section
from inflight.bench.show.studies import STUDIES, Studies
from inflight.bench.show.study import Study, Tile, parts
from tests.made_rows import arm_row, block_rows, crawl_row, edited
from tests.show.drawn import HOSTILE, drawn

NAMED = {study.name: study for study in STUDIES}
BLOCKS = range(1, 7)
HOSTILE_NAMES = ("_hidden", "a\x00b", "\N{PILE OF POO}" * 3, "x" * 200, "\\frac{1}{0}")


def findings(rows: Iterable[Row], study: str) -> tuple[str, ...]:
    return section(parts(NAMED[study], Studies(list(rows)).lines)).findings or ()


def tiles(rows: Iterable[Row], study: Study = NAMED["map"]) -> list[Tile]:
    return [place for part in parts(study, Studies(list(rows)).lines) for place in part.tiles.values()]


def rates(per_s: dict[str, float], noise: float = 0.01, seed: int = 1, **same: Any) -> list[Row]:
    """Make six blocks of arms with these pages per second, times a noise of their own."""
    random = Random(seed)
    return [
        arm_row(name, number=number, pages_per_s=rate * math.exp(random.gauss(0, noise)), **same)
        for number in BLOCKS
        for name, rate in per_s.items()
    ]


def grid_rows(per_s: dict[str, float], noise: float = 0.01, seed: int = 1) -> list[Row]:
    return [
        row
        for number, (latency, work) in enumerate((a, b) for a in ("0", "50ms") for b in ("0", "1ms"))
        for row in rates(per_s, noise, 10 * seed + number, latency=latency, work=work)
    ]


@pytest.mark.parametrize(("others", "is_of_shared"), [((), False), (("generators",), True)])
def test_a_finding_is_of_the_shared_stack_only_if_all_that_it_compares_are(
    others: tuple[str, ...], is_of_shared: bool
) -> None:
    costs = {"callbacks": 20_000, **dict.fromkeys(others, 60_000), "my_client": 900_000}
    rows = [edited(row, stack="own" if row.arm == "my_client" else "shared") for row in block_rows(costs)]

    for study in ("throughput", "cpu"):
        first = findings(rows, study)[0]
        assert ("shared stack" in first) is is_of_shared
        assert ("my_client" in first) is not is_of_shared


def test_crawls_with_fewer_pages_than_may_be_in_flight_are_left_out() -> None:
    rows = [crawl_row(in_flight=cap, pages=50, number=n) for cap in (10, 1000) for n in (1, 2)]

    (part,) = Studies(rows).parts["throughput"]
    assert [in_flight for _, in_flight in part.columns] == [10]


# The map


def test_a_planted_half_is_found_and_a_tie_stays_one() -> None:
    planted, equal = ({"fast": 2000.0, "slow": 1000.0}, {"one": 1000.0, "two": 1000.0})
    found, alike = (tiles(grid_rows(per_s, noise=0.05)) for per_s in (planted, equal))
    first, lead = findings(grid_rows(planted, noise=0.05), "map")

    assert [(one.best, one.is_decided) for one in found] == [(("fast",), True)] * 4
    assert {one.ratio > 1.8 for one in found} == {True}
    assert not any(one.is_decided for one in alike)
    assert (first, lead[:32]) == ("In 0 of 4 workloads the models tie.", "At most, the fastest (fast) is 2")
    assert findings(grid_rows(equal, noise=0.05), "map") == ("In 4 of 4 workloads the models tie.",)


def test_without_differences_few_workloads_have_a_winner() -> None:
    per_s = {"a": 1000.0, "b": 1000.0, "c": 1000.0, "d": 1000.0}
    found = [one for seed in range(25) for one in tiles(grid_rows(per_s, 0.05, seed))]

    assert sum(one.is_decided for one in found) <= 0.1 * len(found)


def test_less_than_two_percent_is_never_a_win() -> None:
    assert not any(one.is_decided for one in tiles(grid_rows({"a": 1010.0, "b": 1000.0}, noise=0.0001)))


def test_those_that_tie_with_the_fastest_are_named_together() -> None:
    found = tiles(grid_rows({"a": 2000.0, "b": 1990.0, "c": 1000.0}, noise=0.02))

    assert {frozenset(one.best) for one in found} == {frozenset({"a", "b"})}
    assert all(one.is_decided for one in found)


# JSON and plots


@pytest.mark.parametrize(
    "rows",
    [
        block_rows(),
        [crawl_row(name, in_flight=cap, times_ns=[5, 6]) for name in HOSTILE_NAMES for cap in (1, 10, 100)],
        grid_rows({"a": 2000.0, HOSTILE: 1000.0}),
        block_rows(blocks=1),
    ],
    ids=["blocks", "crawls of hostile names", "a map, a hostile name", "one block"],
)
def test_every_text_of_a_plot_is_inside_and_big_enough(rows: list[Row]) -> None:
    assert drawn(rows)


def test_a_plot_whose_columns_have_no_dots_is_drawn() -> None:
    """A crawl of a run of claims has percentiles only of lines that no plot has room for."""
    rows = [
        crawl_row(f"s{n:02}", in_flight=cap, times_ns=[5, 6] if n == 39 else []) for n in range(40) for cap in (1, 9)
    ]

    assert drawn(rows)


def test_the_costs_of_tls_are_ratios_to_plain_whichever_block_was_first() -> None:
    plain, secure = (
        [
            row
            for number in BLOCKS
            for row in (
                arm_row(role="reference", cpu_per_page_ns=20_000 * times, number=number, connection="per-fetch"),
                arm_row("thread_pool", cpu_per_page_ns=30_000 * times, number=number, connection="per-fetch"),
            )
        ]
        for times in (1, 8)
    )
    secure = [edited(row, workload={"tls": True, "id": f"{row.workload.id}/tls"}) for row in secure]

    (part,) = parts(NAMED["tls"], Studies([*secure, *plain]).lines)

    assert set(part.ratios["baseline"]) == {"per-fetch"}
    assert part.ratios["estimate"].tolist() == pytest.approx([8, 8], rel=0.01)


def test_a_quantile_that_some_blocks_have_too_few_fetches_for_is_left_out() -> None:
    def shown(*fetches: int) -> set[str]:
        rows = [
            arm_row(number=number, times_ns=[1000 * n for n in range(1, many)])
            for number, many in enumerate(fetches, start=1)
        ]
        (part,) = parts(NAMED["times"], Studies(rows).lines)
        return set(part.figures["figure"])

    assert shown(1200, 1300) == {"service_p50_ns", "service_p90_ns", "service_p99_ns"}
    assert shown(1200, 900) == {"service_p50_ns", "service_p90_ns"}
