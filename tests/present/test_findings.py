"""The titles of throughput: which figures they compare, and when they state no difference."""

from collections.abc import Sequence
from typing import Any

import pytest

from inflight.bench.core.cells import cells
from inflight.bench.rows.files import Row
from inflight.bench.studies.throughput.show import sections
from inflight.bench.studies.throughput.title import of_rates
from tests.made_rows import crawl_row, grid


def titles(rows: Sequence[Row]) -> list[str]:
    """Return the findings on CPU time per page and on pages per second."""
    return [section.title for section in sections(rows)]


def rounds(name: str, values: Sequence[int], **given: Any) -> list[Row]:
    """Make a row for each round, whose CPU time per page and throughput are one value."""
    return [
        crawl_row(name, number=number, cpu_per_page_ns=value, pages_per_s=value, **given)
        for number, value in enumerate(values, 1)
    ]


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        (grid(), "From 1 to 1,000 in flight, callbacks gets 1,000x faster at 50 ms, 1.0x faster at no added latency"),
        (
            grid(latencies=["50ms"], rounds=1),
            "From 1 to 1,000 in flight, callbacks gets 1,000x faster at 50 ms (one round)",
        ),
        (
            [*grid(["one"], latencies=["50ms"]), *grid(["one"], latencies=["0"], caps=(1, 20))],
            "From 1 to 1,000 in flight, one gets 1,000x faster at 50 ms",
        ),
        (
            [*rounds("a", (100, 900), in_flight=1), *rounds("a", (800, 1500), in_flight=10)],
            "From 1 to 10 in flight, a gets 3.7x faster at no added latency (not significant)",
        ),
        (
            [*rounds("a", (900, 910)), *rounds("b", (500, 510))],
            "At no added latency with 100 in flight, the throughput is 500 pages/s with b, 900 pages/s with a: 1.8x",
        ),
    ],
)
def test_the_title_of_throughput_states_the_gain_in_flight_or_compares_strategies(rows: list[Row], title: str) -> None:
    assert of_rates(cells(rows)) == title


def test_the_section_on_throughput_does_not_repeat_the_first_finding_as_its_title() -> None:
    assert [bool(title) for title in titles([*rounds("a", (900, 910)), *rounds("b", (500, 510))])] == [True, False]
    assert titles([crawl_row(invalid=True)]) == [""]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (
            [("b", (60_000, 60_100)), ("a", (20_000, 20_100)), ("c", (30_000, 30_100))],
            "20 µs with a, 60.0 µs with b: 3.0x",
        ),
        (
            [("a", (20_000, 40_000)), ("b", (30_000, 50_000))],
            "28 µs with a, 39 µs with b: noise may hide a difference",
        ),
        ([("a", (20_000,)), ("b", (60_000,))], "20 µs with a, 60 µs with b (one round)"),
        ([("a", (20_000, 20_000))], "20.0 µs with a"),
    ],
)
def test_the_title_of_cpu_compares_the_cheapest_and_the_most_expensive(
    rows: list[tuple[str, tuple[int, ...]]], told: str
) -> None:
    found = titles([row for name, values in rows for row in rounds(name, values)])

    assert found[0] == f"At no added latency with 100 in flight, the CPU time per page is {told}"


def test_clients_with_a_stack_of_their_own_are_not_compared_with_the_models() -> None:
    models = [*rounds("a", (20_000, 20_000)), *rounds("b", (40_000, 40_000))]

    assert "client" not in " ".join(titles([*models, *rounds("client", (90_000, 90_000), stack="own")]))


def test_invalid_rows_conclude_nothing() -> None:
    assert titles([*rounds("a", (900, 910)), *rounds("b", (1, 1), invalid=True)])[0].endswith("900 ns with a")


def test_one_setting_among_several_is_named() -> None:
    rows = [*rounds("a", (900, 910)), *rounds("a", (900, 910), connection="per-fetch")]

    assert all(title.endswith(" (keep-alive connections)") for title in titles(rows))


def test_without_a_timed_row_there_is_no_section() -> None:
    assert sections([]) == []


def found(rows: Sequence[Row]) -> list[str]:
    """Return all findings of the sections."""
    return [sentence for section in sections(rows) for sentence in section.found]


def test_the_first_finding_names_the_fastest_those_that_tie_with_it_and_the_slowest() -> None:
    rows = [*rounds("a", (1000, 1010, 1005)), *rounds("b", (990, 1012, 1001)), *rounds("c", (500, 505, 502))]

    assert found(rows)[0] == (
        "At no added latency with 100 in flight, a is fastest with 1,000 pages/s: 2.0x as fast as c (502 pages/s), "
        "but not significantly faster than b."
    )


def test_a_strategy_far_below_the_fastest_is_not_called_tied_with_it_because_it_varies() -> None:
    rows = [*rounds("a", (1000, 1010, 1005)), *rounds("b", (500, 505, 502)), *rounds("c", (20, 600, 3000))]

    assert found(rows)[0] == (
        "At no added latency with 100 in flight, a is fastest with 1,000 pages/s: 2.0x as fast as b (502 pages/s); "
        "c varies too much to compare."
    )


@pytest.mark.parametrize(
    ("models", "told"),
    [
        ({"a": (1000, 1010, 1005), "b": (990, 1012, 1001)}, "both models are equally fast, at 1,000 pages/s."),
        (
            {"a": (500, 1000, 2000), "b": (400, 800, 900)},
            "no difference between the two models is significant, at 660 pages/s to 1,000 pages/s: noise may hide one.",
        ),
        (
            {"a": (800, 2000), "b": (1000, 1010, 1005), "c": (500, 505, 502)},
            "b is 2.0x as fast as c (502 pages/s); no model differs significantly from the fastest, a.",
        ),
    ],
)
def test_no_difference_from_the_fastest_is_told_with_what_is_known(
    models: dict[str, tuple[int, ...]], told: str
) -> None:
    rows = [row for name, values in models.items() for row in rounds(name, values)]

    assert found(rows)[0] == f"At no added latency with 100 in flight, {told}"


def test_the_second_finding_orders_the_strategies_of_each_stack_and_marks_ties() -> None:
    rows = [
        *rounds("a", (1000, 1010, 1005)), *rounds("b", (990, 1012, 1001)), *rounds("c", (500, 505, 502)),
        *rounds("lib", (50, 51, 52), stack="own"), *rounds("mine", (90, 91, 92), stack="own"),
    ]  # fmt: skip

    assert found(rows)[1] == (
        "Fastest first, at no added latency with 100 in flight: a = b, then c; mine, then lib "
        "(=: not significantly slower; then: significantly slower)."
    )


@pytest.mark.parametrize(("several", "alone"), [("shared", "own"), ("own", "shared")])
def test_a_strategy_alone_in_its_stack_is_not_compared(several: str, alone: str) -> None:
    rows = [
        *rounds("a", (1000, 1010, 1005), stack=several), *rounds("b", (500, 505, 502), stack=several),
        *rounds("other", (90, 91, 92), stack=alone),
    ]  # fmt: skip

    [order] = [sentence for sentence in found(rows) if sentence.startswith("Fastest first")]
    assert order.endswith("Not compared with these: other, whose HTTP stack is another one.")


def test_an_order_without_ties_needs_no_signs() -> None:
    rows = [*rounds("a", (1000, 1010, 1005)), *rounds("b", (500, 505, 502)), *rounds("c", (100, 101, 102))]

    assert found(rows)[1] == (
        "Fastest first, at no added latency with 100 in flight: a, b, c. Each is significantly slower than the one "
        "before it."
    )


def one_and_many(many: int, *names: str) -> list[Row]:
    """Make rows of a strategy with one fetch in flight, and of others with this many, at 50 ms."""
    rows = [row for name in names for row in rounds(name, (900, 910, 920), latency="50ms", in_flight=many)]
    return [*rounds("one_by_one", (18, 19, 20), latency="50ms", in_flight=1), *rows]


def test_strategies_with_many_in_flight_are_compared_with_the_one_that_has_one() -> None:
    rows = [*one_and_many(50, "a", "b"), *rounds("a", (19, 20, 19), latency="50ms", in_flight=1)]

    assert (
        "At 50 ms with 50 in flight, both models fetch 910 pages/s; one_by_one, with 1 in flight, fetches 19 pages/s."
        in found(rows)
    )


def test_the_comparison_with_one_in_flight_takes_the_number_at_which_most_strategies_have_a_noise() -> None:
    rows = [
        *one_and_many(50, "a", "b", "c"),
        *one_and_many(80, "a", "b")[3:],
        *rounds("c", (900,), latency="50ms", in_flight=80),
    ]

    [told] = [sentence for sentence in found(rows) if "one_by_one" in sentence]
    assert told.startswith("At 50 ms with 50 in flight, all 3 models fetch")


@pytest.mark.parametrize(
    "rows",
    [
        [*one_and_many(50, "a")],
        [*one_and_many(50, "a", "b"), *rounds("one_by_one", (900, 910), latency="50ms", in_flight=50)],
        [*one_and_many(50, "a", "b"), *rounds("slow", (12, 19, 30), latency="50ms", in_flight=50)],
    ],
    ids=["one other strategy", "none has one only", "one may be no faster"],
)
def test_without_a_sure_gain_over_one_in_flight_no_sentence_tells_it(rows: list[Row]) -> None:
    assert not any("one_by_one, with 1 in flight" in sentence for sentence in found(rows))


def test_two_strategies_of_one_stack_need_no_order() -> None:
    rows = [*rounds("a", (1000, 1010, 1005)), *rounds("b", (500, 505, 502))]

    assert not any(" > " in sentence for sentence in found(rows))


def test_one_round_names_no_fastest() -> None:
    assert not any("fastest" in sentence for sentence in found([*rounds("a", (1000,)), *rounds("b", (10,))]))


def test_no_figure_is_told_twice_where_there_is_one_number_in_flight() -> None:
    rows = [*rounds("a", (1000, 1010, 1005)), *rounds("b", (500, 505, 502))]

    assert len([sentence for sentence in found(rows) if "pages/s" in sentence]) == 1


def test_bars_are_the_pages_per_second_that_the_first_finding_compares() -> None:
    rows = [*rounds("a", (500, 505, 502)), *rounds("b", (1000, 1010, 1005))]

    (bars,) = [section.bars for section in sections(rows) if section.bars]

    assert bars.title == "Pages per second at no added latency with 100 in flight"
    assert [bar.name for bar in bars.bars] == ["b", "a"]
