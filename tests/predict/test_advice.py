"""What is advised follows from the CPU time per page, and only what the blocks tell apart decides."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from inflight.bench.frame.frame import frame, trials, with_cycles
from inflight.bench.predict import show
from inflight.bench.predict.advice import ALIKE, Advice, Wanted, advise, known, verify
from inflight.bench.predict.model import Load
from inflight.bench.rows.files import Row
from tests.made_rows import MS, arm_row, crawl_row, edited, held_row

MODELS = {"callbacks": 20_000, "native_asyncio": 52_000, "thread_pool": 30_000}
"""CPU time of a page in nanoseconds."""
LENGTHS = {
    "callbacks": 240, "native_asyncio": 100, "thread_pool": 200, "sequential": 90, "generators": 210,
    "process_pool": 400,
}  # fmt: skip
STEADY = (0.01, -0.01, 0.0)
POOL_NS = 90_000


def wanted(latency_ms: float, work_ns: int, in_flight: int, *, tls: bool = False) -> Wanted:
    return Wanted(Load(latency_ms * MS, work_ns), in_flight, tls)


def rows_of(in_flight: int, noise: Sequence[float] = STEADY, models: Mapping[str, int] = MODELS) -> list[Row]:
    """Return costs in blocks, moved alike for all models, and a little for each by itself; and those of the pool."""
    found = []
    for n, moved in enumerate(noise, 1):
        for number, (name, cost) in enumerate(models.items()):
            cpu_ns = round(cost * math.exp(moved * (1 + number / 10)))
            found.append(arm_row(name, in_flight=in_flight, number=n, cpu_per_page_ns=cpu_ns, pages_per_s=1e9 / cpu_ns))
        found.append(
            arm_row("process_pool", in_flight=in_flight, number=n, cpu_per_page_ns=POOL_NS, asked={"cores": 2})
        )
    return found


def rows_everywhere() -> list[Row]:
    """Return the same costs with few and with many in flight."""
    return [*rows_of(1), *rows_of(1000)]


def advice(asked: Wanted, found: list[Row], cores: int = 2, available_bytes: int = 10**12) -> Advice:
    return advise(with_cycles(frame(found), found), trials(found), asked, LENGTHS, cores, available_bytes)


@pytest.mark.parametrize(
    ("asked", "is_full", "rate"),
    [
        (wanted(50, 0, 10), False, 10 / 0.05002),
        (wanted(50, MS, 25), False, 25 / 0.05102),
        (wanted(0, MS, 100), True, 1 / 0.00102),
        (wanted(50, MS, 100), True, 1 / 0.00102),
    ],
)
def test_what_is_expected_follows_from_the_cost_of_a_page(asked: Wanted, is_full: bool, rate: float) -> None:
    first = advice(asked, rows_of(asked.in_flight)).models[0]
    estimate, low, high = first.pages_per_s

    assert (first.strategy, first.is_full, first.verdict) == ("callbacks", is_full, "fastest")
    assert estimate == pytest.approx(rate, rel=0.001)
    assert low < estimate < high
    assert first.fetch_ns == pytest.approx(asked.in_flight / rate * 1e9, rel=0.001), "Little's law"


@pytest.mark.parametrize(
    ("asked", "noise", "models", "advised", "alike"),
    [
        (wanted(0, 0, 100), STEADY, MODELS, "callbacks", 1),
        (wanted(0, 0, 100), (0.5, -0.3, 0.1), MODELS, "callbacks", 1),
        (wanted(200, 0, 50), STEADY, MODELS, "native_asyncio", 3),
        (wanted(0, 0, 100), STEADY, {"callbacks": 20_000, "native_asyncio": 20_500}, "native_asyncio", 2),
        (wanted(0, 0, 100), STEADY, {"callbacks": 20_000, "native_asyncio": 40_000}, "callbacks", 1),
        (wanted(0.2, 0, 1), STEADY, MODELS, None, 2),
        (wanted(0, 100_000, 1), STEADY, MODELS, None, 1),
        (wanted(0, 0, 2), STEADY, MODELS, None, 1),
    ],
    ids=[
        "the fastest", "whole blocks that change", "of equally fast ones the shortest program", "a small difference",
        "a difference that counts", "fetches that are too short", "fetches that are too short, with work",
        "too few of them",
    ],
)  # fmt: skip
def test_only_a_difference_that_counts_decides(
    asked: Wanted, noise: Sequence[float], models: Mapping[str, int], advised: str | None, alike: int
) -> None:
    found = advice(asked, rows_of(asked.in_flight, noise, models))

    assert (found.advised and found.advised.strategy, len(found.alike)) == (advised, alike)
    assert bool(found.why_not) == (advised is None)


def blocks(costs: Mapping[str, Sequence[int]]) -> list[Row]:
    return [
        arm_row(name, number=n, cpu_per_page_ns=cost, pages_per_s=1e9 / cost)
        for name, many in costs.items()
        for n, cost in enumerate(many, 1)
    ]


def test_an_undecided_bystander_does_not_undo_a_clear_answer() -> None:
    costs = {"callbacks": [20_000] * 3, "native_asyncio": [52_000] * 3, "thread_pool": [20_000, 40_000, 90_000]}

    found = advice(wanted(0, 0, 100), blocks(costs))

    assert found.advised is not None
    assert found.advised.strategy == "callbacks"
    assert {each.strategy: each.verdict for each in found.models} == {
        "callbacks": "fastest", "native_asyncio": "slower", "thread_pool": "unstable",
    }  # fmt: skip


def test_a_run_that_cannot_tell_any_model_from_the_fastest_gives_no_advice() -> None:
    found = advice(wanted(0, 0, 100), blocks({"callbacks": [20_000] * 2, "native_asyncio": [20_000, 60_000]}))

    assert found.advised is None
    assert "cannot tell callbacks" in found.why_not


@pytest.mark.parametrize(
    ("asked", "cores", "expected"),
    [
        (wanted(300, MS, 2000), 8, (8, 250, 8)),
        (wanted(300, MS, 2000), 2, (8, 250, 2)),
        (wanted(0, 10 * MS, 10), 2, (0, 5, 2)),
    ],
    ids=["enough cores", "as many cores as there are", "without latency"],
)
def test_where_a_core_is_the_limit_processes_are_advised_with_their_numbers(
    asked: Wanted, cores: int, expected: tuple[int, int, int]
) -> None:
    found = advice(asked, rows_everywhere(), cores)

    advised = found.advised
    assert advised is not None
    assert advised.strategy == "process_pool"
    assert (advised.processes, advised.in_flight, advised.cores) == expected
    page_s = (asked.load.work_ns + POOL_NS) / 1e9
    all_cores_per_s = advised.cores / page_s
    waiting_per_s = asked.in_flight / (asked.load.latency_ns / 1e9 + page_s)
    assert advised.pages_per_s[0] == pytest.approx(min(all_cores_per_s, waiting_per_s))


@pytest.mark.parametrize(
    ("asked", "cores"),
    [(wanted(300, MS, 2000), 1), (wanted(300, MS, 200), 8), (wanted(0, 20_000, 100), 8)],
    ids=["one core", "below the knee", "a parent that would be full"],
)
def test_where_processes_do_not_help_one_is_advised(asked: Wanted, cores: int) -> None:
    advised = advice(asked, rows_everywhere(), cores).advised

    assert advised is not None
    assert advised.strategy != "process_pool"
    assert (advised.processes, advised.cores) == (1, 1)


def test_beyond_the_knee_of_one_core_no_more_are_advised_than_fill_it() -> None:
    asked = wanted(300, MS, 2000)
    advised = advice(asked, [row for row in rows_everywhere() if row.strategy != "process_pool"]).advised

    assert advised is not None
    assert advised.in_flight == math.ceil(advised.knee) == 287
    assert advised.fetch_ns == pytest.approx(2000 * 1.052 * MS, rel=0.001)


@pytest.mark.parametrize("tls", [False, True])
def test_memory_is_of_the_same_connections(tls: bool) -> None:
    found = [edited(row, workload={"tls": tls}) for row in rows_of(100)]
    held = [held_row(name, n, (16_000, 0, 0, 0)) for name in MODELS for n in (100, 200, 350, 500, 700)]

    models = advice(wanted(0, MS, 100, tls=tls), [*found, *held]).models

    sizes = {each.strategy: each.memory_bytes for each in models}
    assert sizes == dict.fromkeys([*MODELS, "process_pool"], None if tls else pytest.approx(1_600_000, rel=0.01))


def test_without_the_counts_of_the_kernel_memory_is_that_of_the_process() -> None:
    sizes = (100, 200, 350, 500, 700)
    held = [held_row("callbacks", n, (16_000, 0, 0, 8_000)) for n in sizes]
    disturbed = [held_row("thread_pool", n, (30_000, 0, 0, 8_000), unknown=["slab_bytes"]) for n in sizes]
    asked = wanted(0, MS, 100)

    found = advice(asked, [*rows_of(100), *held, *disturbed])

    models = {each.strategy: each for each in found.models}
    assert models["callbacks"].memory_bytes == pytest.approx(2_400_000, rel=0.01)
    assert models["callbacks"].memory_is_whole
    assert models["thread_pool"].memory_bytes == pytest.approx(3_000_000, rel=0.01)
    assert not models["thread_pool"].memory_is_whole
    assert models["native_asyncio"].memory_bytes is None
    assert "≥3.00 MB" in text_of(found, asked)


SIZES = {"callbacks": 53_000, "native_asyncio": 304_000, "thread_pool": 107_000}
"""Memory of one more fetch over TLS in bytes."""


def rows_with_memory(models: Mapping[str, int] = MODELS) -> list[Row]:
    held = [held_row(name, n, (size, 0, 0, 0)) for name, size in SIZES.items() for n in (100, 200, 350, 500, 700)]
    return [*rows_of(3000, models=models), *held]


@pytest.mark.parametrize(
    ("available_bytes", "advised", "why"),
    [
        (
            4_000_000_000, "native_asyncio",
            "of them (100 lines); callbacks would take 159 MB of memory instead of 912 MB.",
        ),
        (
            3_000_000_000, "callbacks",
            "has a shorter program, but would take 912 MB, more than a quarter of the 3.00 GB that are free here.",
        ),
    ],
    ids=["memory that fits", "memory that does not fit"],
)  # fmt: skip
def test_of_models_that_are_alike_the_one_that_reads_best_is_advised_while_its_memory_fits(
    available_bytes: int, advised: str, why: str
) -> None:
    asked = wanted(500, 0, 3000)
    found = advice(asked, rows_with_memory(), available_bytes=available_bytes)

    assert found.advised is not None
    assert (found.advised.strategy, len(found.alike)) == (advised, 3)
    assert why in text_of(found, asked)


def test_a_slower_model_is_not_advised_for_its_memory() -> None:
    rows = rows_with_memory({"callbacks": 52_000, "native_asyncio": 20_000})

    advised = advice(wanted(0, 0, 3000), rows, available_bytes=1).advised

    assert advised is not None
    assert (advised.strategy, advised.verdict) == ("native_asyncio", "fastest")


def test_a_pool_that_is_left_out_is_not_compared() -> None:
    rows = rows_everywhere()
    lengths = {name: lines for name, lines in LENGTHS.items() if name != "process_pool"}

    found = advise(with_cycles(frame(rows), rows), trials(rows), wanted(300, MS, 2000), lengths, 2, 10**12)

    assert {each.strategy for each in found.models} == set(MODELS)


def arms(in_flight: int, blocks: int = 3, **values: Any) -> list[Row]:
    return [arm_row(in_flight=in_flight, number=number, **values) for number in range(1, blocks + 1)]


@pytest.mark.parametrize(
    ("measured", "asked", "expected"),
    [
        ((10, 100), (5, 10, 60, 200), True),
        ((10, 100), (4, 201), False),
        ((10, 1000), (1001, 100_000), True),
    ],
    ids=["between and near", "beyond", "above the last number"],
)
def test_costs_are_known_near_and_between_measured_numbers(
    measured: Sequence[int], asked: Sequence[int], expected: bool
) -> None:
    rows = [row for number in measured for row in arms(number, cpu_per_page_ns=30_000)]
    lines = with_cycles(frame(rows), rows)

    assert {bool(known(lines, wanted(0, 0, number))) for number in asked} == {expected}


@pytest.mark.parametrize(
    "found",
    [
        arms(100, latency="10ms"),
        arms(100, work="1ms"),
        arms(100, invalid=True),
        arms(100, strategy="callbacks again", role="placebo"),
        arms(100, strategy="A", asked={"strategy": "callbacks"}),
        arms(100, site={"links": 3}),
        [crawl_row(number=number) for number in (1, 2, 3)],
    ],
)
def test_other_rows_have_no_cost(found: list[Row]) -> None:
    assert not known(with_cycles(frame(found), found), wanted(0, 0, 100))


@pytest.mark.parametrize(
    ("factors", "invalid", "holds", "off", "title"),
    [((0.98, 0.97), False, True, 0.028, "The choice holds."),
     ((0.8, 0.8), False, True, 0.198, "The choice holds."),
     ((0.5, 0.5), False, True, 0.499, "The choice holds, but the figures are off: "),
     ((0.95, 1.2), False, False, 0.202, "The measurement does not confirm the choice."),
     ((0.5, 1.2), False, False, 0.499, "The measurement does not confirm the choice."),
     ((1, 1), True, False, None, "The choice could not be measured.")],
    ids=["as expected", "slower than expected", "half as fast", "the other one is faster",
         "half as fast, and the other one is faster", "no valid block"],
)  # fmt: skip
def test_a_verification_holds_unless_another_model_is_surely_faster(
    factors: tuple[float, float], invalid: bool, holds: bool, off: float | None, title: str
) -> None:
    chosen = advice(wanted(50, 0, 10), rows_of(10)).models[:2]
    found = [
        arm_row(one.strategy, latency="50ms", in_flight=10, number=n, invalid=invalid,
                pages_per_s=one.pages_per_s[0] * factor * (1 + n / 1000))
        for one, factor in zip(chosen, factors, strict=True) for n in (1, 2, 3)
    ]  # fmt: skip

    verified = verify(with_cycles(frame(found), found), chosen)

    assert verified["holds"] is holds
    offs = [abs(model["off"]) for model in verified["models"] if model["off"] is not None]
    assert max(offs, default=None) == (None if off is None else pytest.approx(off, abs=0.001))
    text = show.verified_text(verified | {"folder": "results/x"})
    assert text.startswith(title)


def test_a_noisy_run_confirms_nothing() -> None:
    chosen = advice(wanted(50, 0, 10), rows_of(10)).models[:2]
    found = [
        edited(arm_row(one.strategy, latency="50ms", in_flight=10, number=n, pages_per_s=one.pages_per_s[0]),
               measured={"others_share": 0.5})
        for one in chosen for n in (1, 2, 3)
    ]  # fmt: skip

    assert not verify(with_cycles(frame(found), found), chosen)["holds"]


SOURCE = show.Source(
    run="results/\x1b[31mx",
    measured_at="2026-11-26T23:00:00.000+00:00",
    machine_differs=["cpu Other 1, here Imaginary 9000"],
    is_noisy=False,
    left_out={"a": "why"},
)


def text_of(found: Advice, asked: Wanted) -> str:
    text = show.text(found, asked, SOURCE, datetime(2026, 11, 28, 1, tzinfo=UTC))
    return " ".join(text.split())


def said(asked: Wanted, found: list[Row]) -> str:
    return text_of(advice(asked, found), asked)


def test_the_text_has_the_advice_and_its_basis_and_hostile_names_are_made_harmless() -> None:
    text = said(wanted(80, 0, 500), rows_of(500))

    assert text.startswith(
        "For 80 ms latency, no CPU work per page, 500 in flight: use native_asyncio, one process with 500 in flight."
    )
    for part in (
        "a: left out, why.",
        "another machine: cpu Other 1, here Imaginary 9000.",
        "Latency-bound: N / (L + c + w) gives 6,250 pages/s, and a core is 32 % busy.",
        "are within 5 %; native_asyncio has the shortest program of them (100 lines).",
        "measured on 26 Nov 2026 (1 day ago)",
        "alike",
    ):
        assert part in text
    assert "\x1b" not in text


def test_the_text_of_processes_says_what_a_core_gives_and_how_long_a_fetch_waits() -> None:
    text = said(wanted(300, MS, 2000), rows_everywhere())

    for part in (
        "use process_pool, 8 processes with 250 in flight each.",
        "CPU-bound: one core gives 980 of 6,640 pages/s.",
        "This machine has 2 cores: as many processes with 1,000 in flight each give 1,830.",
        "With all 2,000 a fetch takes 1.1 s instead of 300 ms.",
    ):
        assert part in text


def test_a_refusal_to_advise_says_why() -> None:
    assert said(wanted(0.2, 0, 1), rows_of(1)).startswith(
        "For 200 µs latency, no CPU work per page, 1 in flight: no recommendation. Fetches are so short here that"
    )
    assert ALIKE == 1.05, "the text says 5 %"
