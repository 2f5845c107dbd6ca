"""Studies of timed trials: findings, tables, JSON and plots from the frame of made rows."""

import json
import math
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

from inflight.bench.rows.files import Row
from inflight.bench.show.sections import section
from inflight.bench.show.studies import STUDIES, Studies
from inflight.bench.show.study import Study, Tile, parts
from inflight.bench.show.table import Group, texts
from tests.made_rows import MS, arm_row, block_rows, crawl_row, edited, grid
from tests.show.drawn import HOSTILE, drawn, plain

NAMED = {study.name: study for study in STUDIES}
BLOCKS = range(1, 7)
UNKNOWN = "with one block its certainty is unknown"


def names(rows: Iterable[Row]) -> list[str]:
    every = [many[0].study for many in Studies(list(rows)).present]
    return [study.name for study in every if study.measure == "mean"]


def lines(rows: Iterable[Row], study: str, number: int = 0) -> dict[str, tuple[str, ...]]:
    """Return the cells of each line of one of the tables of a study."""
    table = section(parts(NAMED[study], Studies(list(rows)).lines)).tables[number]
    return {line[0]: line[1:] for one in table.lines if not isinstance(one, Group) for line in [texts(one)]}


def findings(rows: Iterable[Row], study: str) -> tuple[str, ...]:
    return section(parts(NAMED[study], Studies(list(rows)).lines)).findings or ()


def objects(rows: Iterable[Row], study: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = Studies(list(rows)).as_json()[study]
    return found


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


def test_rows_without_a_time_have_no_study() -> None:
    assert names([]) == []
    assert names([crawl_row(status="skipped", reason="no room")]) == []


def test_a_finding_names_best_and_worst_and_their_ratio_if_they_differ() -> None:
    assert findings(rates({"fast": 2000.0, "middle": 1500.0, "slow": 1000.0}), "throughput") == (
        "0 ms, 100 in flight: fast is fastest with 2,000 pages/s, slow slowest with 1,000 pages/s (2.0x).",
    )


def test_a_finding_says_that_all_are_equal_only_if_that_is_sure() -> None:
    (equal,) = findings(rates({"one": 1000.0, "two": 1001.0}, noise=0.001), "throughput")
    (unknown,) = findings(rates({"one": 1000.0, "two": 1001.0}, noise=0.2), "throughput")

    assert equal == "0 ms, 100 in flight: all 2 are equal within 2 %: 1,000 pages/s."
    assert "no certain difference" in unknown


def test_clients_with_a_stack_of_their_own_are_not_compared_with_models() -> None:
    own = rates({"client": 9000.0}, stack="own")
    (told,) = findings([*rates({"one": 1000.0, "two": 500.0}), *own], "throughput")

    assert "client" not in told
    assert list(lines([*rates({"one": 1000.0, "two": 500.0}), *own], "throughput")) == ["one", "two", "client"]


def test_of_one_block_the_ratio_is_said_and_that_its_certainty_is_unknown() -> None:
    (differ,) = findings(block_rows(blocks=1), "throughput")
    (alike,) = findings(
        [arm_row(name, pages_per_s=rate) for name, rate in (("a", 2000.0), ("b", 2001.0))], "throughput"
    )

    assert differ == f"0 ms, 100 in flight: callbacks 49,000 pages/s, generators 40,800 pages/s (1.2x); {UNKNOWN}."
    assert alike == f"0 ms, 100 in flight: all 2: 2,000 pages/s; {UNKNOWN}."


def test_a_stack_of_its_own_is_compared_with_the_best_of_the_shared_one() -> None:
    costs = {"callbacks": 20_000, "generators": 30_000, "my_client": 90_000}
    rows = [
        arm_row(
            name,
            number=number,
            cpu_per_page_ns=cost,
            stack="own" if name == "my_client" else "shared",
            role="reference" if name == "callbacks" else "compared",
        )
        for number in BLOCKS
        for name, cost in costs.items()
    ]
    here = "0 ms, 100 in flight, own HTTP stack: callbacks"

    assert f"{here} is cheapest with 20 µs, my_client dearest with 90 µs (4.5x)." in findings(rows, "cpu")
    assert f"{here} 20 µs, my_client 90 µs (4.5x); {UNKNOWN}." in findings(rows[:3], "cpu")


def test_invalid_trials_conclude_nothing() -> None:
    assert findings([crawl_row(invalid=True, number=n) for n in BLOCKS], "throughput") == ()


def test_invalid_figures_are_shown_with_a_mark_only_where_no_trial_is_valid() -> None:
    both = [crawl_row(pages_per_s=100.0), crawl_row(number=2, invalid=True, pages_per_s=900.0)]

    assert lines(both, "throughput")["callbacks"] == ("100",)
    assert lines(both[1:], "throughput")["callbacks"] == ("900✗",)


def test_ratios_are_those_of_the_blocks_and_know_nothing_of_what_blocks_share() -> None:
    assert lines(block_rows(), "cpu", 1)["generators"] == ("1.2x (1.1 to 1.3)",)
    (ratio,) = [one for one in objects(block_rows(), "cpu") if one["line"] == "generators"]
    assert ratio["ratio_high"] - ratio["ratio_low"] < 0.01


def test_the_reference_measured_again_is_a_sentence_with_what_cannot_be_told() -> None:
    assert findings(block_rows(), "cpu")[-1] == (
        "0 ms, 100 in flight: the same code twice: 1.0x; this run cannot tell differences below 1 %."
    )
    for number in (0, 1):
        assert "callbacks again" not in lines(block_rows(), "cpu", number)
    assert [one["ratio_answer"] for one in objects(block_rows(), "cpu") if "again" in one["line"]] == ["same"]
    assert not [one for one in objects(block_rows(), "throughput") if "again" in one["line"]]


def test_an_arm_that_failed_leaves_the_others_their_figures() -> None:
    rows = [row for row in block_rows() if row.strategy != "generators"]
    rows += [arm_row("generators", number=n, status="failed", reason="raised OSError") for n in range(1, 6)]

    assert list(lines(rows, "cpu")) == ["callbacks"]


def test_a_full_server_and_a_late_one_are_marked() -> None:
    rows = [edited(row, measured={"late_ns": 2 * MS}) for row in block_rows(latency="10ms")]
    full = [edited(row, server={"cpu_share": 0.85, "run_delay_share": 0.06}) for row in rows]

    assert lines(block_rows(latency="10ms"), "throughput")["callbacks"][0] == "9,980"
    assert lines(rows, "throughput")["callbacks"][0].endswith(" at 12 ms")
    assert lines(full, "throughput")["callbacks"][0].startswith("≥")


def test_workloads_that_differ_in_another_value_have_tables_of_their_own() -> None:
    rows = [*grid(caps=(100,)), *grid(caps=(100,), rounds=2)]
    other = [crawl_row(connection="per-fetch", number=n) for n in (1, 2)]
    titles = [table.title for table in section(parts(NAMED["throughput"], Studies([*rows, *other]).lines)).tables]

    assert titles == ["Pages per second, keep-alive connections", "Pages per second, per-fetch connections"]


def test_crawls_with_fewer_pages_than_may_be_in_flight_are_left_out() -> None:
    rows = [crawl_row(in_flight=cap, pages=50, number=n) for cap in (10, 1000) for n in (1, 2)]

    assert len(lines(rows, "throughput")["callbacks"]) == 1


@pytest.mark.parametrize(
    ("study", "usual"), [("throughput", ("50ms", 100)), ("cpu", ("0", 100)), ("times", ("0", 100))]
)
def test_throughput_is_that_of_the_longest_latency_and_others_of_the_shortest(
    study: str, usual: tuple[str, int]
) -> None:
    rows = [
        arm_row(latency=latency, in_flight=cap, times_ns=[5] * 20)
        for latency in ("50ms", "0")
        for cap in (1, 64, 100, 900)
    ]

    (part,) = Studies(rows).parts[study]
    assert part.usual == usual


def test_retention_is_the_ratio_to_the_best_number_in_flight() -> None:
    curve = {1: 10.0, 16: 100.0, 256: 90.0}
    rows = [arm_row(in_flight=cap, number=number, pages_per_s=rate) for cap, rate in curve.items() for number in BLOCKS]
    found = {one["in_flight"]: (one["ratio_estimate"], one["ratio_baseline"]) for one in objects(rows, "retention")}

    assert found[16] == (None, None)
    assert found[256] == (pytest.approx(0.9), 16)


def test_an_interpreter_is_compared_with_that_of_the_reference() -> None:
    rows = [
        arm_row(
            f"callbacks {label}",
            number=number,
            role="reference" if label == "3.13" else "compared",
            cpu_per_page_ns=cost,
            asked={"strategy": "callbacks", "interpreter": label},
        )
        for number in BLOCKS
        for label, cost in (("3.12", 30_000), ("3.13", 20_000))
    ]

    assert names(rows)[0] == "interpreters"
    assert "throughput" not in names(rows)
    assert lines(rows, "interpreters", 1) == {"callbacks": ("1.5x (1.5 to 1.5)",)}
    assert findings(rows, "interpreters") == (
        "3.12, against 3.13: CPU time per page 1.50x (callbacks) to 1.50x (callbacks); 1 of 1 differ.",
    )


def test_a_speed_up_is_the_ratio_to_one_core() -> None:
    rows = [
        arm_row(
            f"pool {cores}", number=n, pages_per_s=1000.0 * cores, asked={"strategy": "pool", "cores": cores}, work=work
        )
        for n in BLOCKS
        for cores in (1, 2)
        for work in ("0", "1ms")
    ]

    assert names(rows)[0] == "cores"
    found = lines(rows, "cores", 1)  # a single strategy is the column
    assert found == dict.fromkeys(["no CPU work, 2 cores", "1 ms CPU work, 2 cores"], ("2.0x (2.0 to 2.0)",))
    assert [one.partition(":")[0] for one in findings(rows, "cores")] == [f"{one}, against 1 core" for one in found]


# The map


def test_two_latencies_with_two_common_amounts_of_work_make_a_map() -> None:
    assert names(grid_rows({"one": 2000.0, "two": 1000.0}))[0] == "map"
    assert "map" not in names(grid(caps=(100,)))


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


def test_json_is_strict_and_ends_that_are_not_known_are_null() -> None:
    (one, *_) = json.loads(json.dumps(objects(block_rows(blocks=1), "cpu"), allow_nan=False))

    assert (one["low"], one["high"], one["n"]) == (None, None, 1)


@pytest.mark.parametrize(
    "rows",
    [block_rows(), grid(caps=(1, 10, 100)), grid_rows({"a": 2000.0, HOSTILE: 1000.0}), block_rows(blocks=1)],
    ids=["blocks", "crawls", "a map, a hostile name", "one block"],
)
def test_every_text_of_a_plot_is_inside_and_big_enough(rows: list[Row]) -> None:
    assert drawn(rows)


def test_a_plot_has_the_studys_name_as_its_title_and_the_finding_below() -> None:
    figure = drawn(rates({"fast": 2000.0, "slow": 1000.0}))["throughput"]

    assert [text.get_gid() for text in figure.texts] == ["title", "notes"]
    assert figure.texts[0].get_text() == "Pages per second"
    assert plain(figure.texts[1]).startswith("0 ms, 100 in flight: fast is fastest with")


def test_a_plot_whose_columns_have_no_dots_is_drawn() -> None:
    """A crawl of a run of claims has percentiles only of lines that no plot has room for."""
    rows = [
        crawl_row(f"s{n:02}", in_flight=cap, times_ns=[5, 6] if n == 39 else []) for n in range(40) for cap in (1, 9)
    ]

    assert drawn(rows)
