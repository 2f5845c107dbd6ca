"""What is expected of a model follows from its CPU time per page, and only what the blocks tell apart is advised."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.bench.commands.advise import SITE
from inflight.bench.frame.frame import frame, with_cycles
from inflight.bench.frame.statistics import bound_per_s, knee
from inflight.bench.predict import show
from inflight.bench.predict.advice import Wanted, advise, costs_near, verify
from inflight.bench.rows import files
from inflight.bench.rows.files import Row
from inflight.bench.show.studies import STUDIES
from inflight.bench.show.study import parts
from tests.made_rows import MS, arm_row, crawl_row

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
MODELS = {"callbacks": 20_000, "native_asyncio": 52_000, "thread_pool": 30_000}
"""CPU time of a page in nanoseconds."""
LENGTHS = {"callbacks": 240, "native_asyncio": 100, "thread_pool": 200, "sequential": 90, "generators": 210}
STEADY = (0.01, -0.01, 0.0)


def wanted(latency_ms: int, work_ns: int, in_flight: int) -> Wanted:
    return Wanted(f"{latency_ms}ms" if latency_ms else "0", latency_ms * MS, work_ns, in_flight, in_flight)


def rows_of(in_flight: int, noise: Sequence[float] = STEADY, models: Mapping[str, int] = MODELS) -> list[Row]:
    """Return costs in blocks, moved alike for all models, and a little for each by itself."""
    found = []
    for n, moved in enumerate(noise, 1):
        for number, (name, cost) in enumerate(models.items()):
            cpu_ns = round(cost * math.exp(moved * (1 + number / 10)))
            found.append(arm_row(name, in_flight=in_flight, number=n, cpu_per_page_ns=cpu_ns, pages_per_s=1e9 / cpu_ns))
    return found


def advice(asked: Wanted, found: list[Row]) -> dict[str, Any]:
    lines = with_cycles(frame(found), found)
    return advise(lines[lines["figure"] != "pages_per_s"], SITE, asked, LENGTHS)


@given(st.floats(0, 1e9), st.floats(1e3, 1e9), st.integers(1, 100_000))
def test_no_loop_is_faster_than_its_latency_or_its_core_allows(latency_ns: float, cpu_ns: float, cap: int) -> None:
    found = bound_per_s(cap, latency_ns, cpu_ns)

    assert found <= 1e9 / cpu_ns * (1 + 1e-9)
    assert found <= cap * 1e9 / (latency_ns + cpu_ns) * (1 + 1e-9)
    assert (found == pytest.approx(1e9 / cpu_ns)) == (cap >= knee(latency_ns, cpu_ns) * (1 - 1e-6))


@pytest.mark.parametrize(
    ("asked", "limit", "share"),
    [(wanted(50, 0, 10), "latency", 0.004), (wanted(0, MS, 100), "CPU", 1), (wanted(50, MS, 25), "latency", 0.5)],
)
def test_what_is_expected_follows_from_the_cost_of_a_page(asked: Wanted, limit: str, share: float) -> None:
    found = advice(asked, rows_of(asked.in_flight))
    first, cost = found["models"][0], 20_000 + asked.work_ns
    estimate, low, high = first["pages_per_s"]

    assert (first["strategy"], first["limit"], found["measured"]) == ("callbacks", limit, False)
    assert estimate == pytest.approx(bound_per_s(asked.in_flight, asked.latency_ns, cost), rel=0.001)
    assert low < estimate < high
    assert first["cpu_per_page_ns"][0] == pytest.approx(cost, rel=0.001)
    assert first["knee"] == pytest.approx((asked.latency_ns + cost) / cost, rel=0.001)
    assert first["core_share"] == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize(
    ("asked", "noise", "models", "advised", "alike"),
    [
        (wanted(0, 0, 100), STEADY, MODELS, "callbacks", 1),
        (wanted(0, 0, 100), (0.5, -0.3, 0.1), MODELS, "callbacks", 1),
        (wanted(200, 0, 50), STEADY, MODELS, "native_asyncio", 3),
        (wanted(0, 0, 100), (0.0,), MODELS, None, 0),
        (wanted(0, 0, 100), (0.5, -0.5, 0.1), {"callbacks": 20_000, "generators": 20_200}, None, 2),
        (wanted(0, 0, 1), STEADY, MODELS, None, 1),
        (wanted(0, 100_000, 1), STEADY, MODELS, None, 1),
    ],
    ids=[
        "the fastest", "whole blocks that change", "of equally fast ones the shortest program", "one block",
        "a tie", "fetches that are too short", "fetches that are too short, with work",
    ],
)  # fmt: skip
def test_only_what_the_blocks_tell_apart_is_advised(
    asked: Wanted, noise: Sequence[float], models: Mapping[str, int], advised: str | None, alike: int
) -> None:
    found = advice(asked, rows_of(asked.in_flight, noise, models))

    assert (found.get("advised"), len(found.get("alike", ()))) == (advised, alike)


def test_advice_and_map_of_one_run_never_contradict_each_other() -> None:
    stored = files.read(max(REFERENCE.glob("*-map")))
    lines = with_cycles(frame(stored), stored)
    study = next(one for one in STUDIES if one.name == "map")
    (part,) = parts(study, lines)
    latencies, works = (dict(zip(lines[key], lines[f"{key}_ns"], strict=True)) for key in ("latency", "cpu"))

    for cpu, latency, number in part.columns:
        lengths = {name: length for name, length in LENGTHS.items() if number == 1 or name != "sequential"}
        found = advise(lines, SITE, Wanted(latency, latencies[latency], works[cpu], number, number), lengths)
        best = part.tiles[cpu, latency, number].best
        assert (found["measured"], tuple(found["alike"])) == (True, best)
        assert found["advised"] in {None, *best}


def arms(in_flight: int, blocks: int = 3, **values: Any) -> list[Row]:
    return [arm_row(in_flight=in_flight, number=number, **values) for number in range(1, blocks + 1)]


def test_the_cost_of_a_page_is_from_the_nearest_number_in_flight() -> None:
    lines = frame([*arms(10, cpu_per_page_ns=30_000), *arms(100, cpu_per_page_ns=20_000)])

    near = {asked: set(costs_near(lines, SITE, asked)["value"]) for asked in (4, 5, 20, 40, 60, 200, 201)}

    assert near == {4: set(), 5: {30_000}, 20: {30_000}, 40: set(), 60: {20_000}, 200: {20_000}, 201: set()}


@pytest.mark.parametrize(
    "found",
    [
        arms(100, blocks=1),
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
    assert costs_near(frame(found), SITE, 100).empty


@pytest.mark.parametrize(
    ("factors", "invalid", "holds", "off"),
    [((0.98, 0.97), False, True, 0.028), ((0.8, 0.8), False, True, 0.198), ((0.95, 1.05), False, False, 0.052),
     ((1, 1), True, False, None)],
    ids=["as expected", "slower than expected", "the other one is faster", "no valid block"],
)  # fmt: skip
def test_a_verification_holds_unless_another_model_is_surely_faster(
    factors: tuple[float, float], invalid: bool, holds: bool, off: float | None
) -> None:
    chosen = advice(wanted(50, 0, 10), rows_of(10))["models"][:2]
    found = [
        arm_row(one["strategy"], latency="50ms", in_flight=10, number=n, invalid=invalid,
                pages_per_s=one["pages_per_s"][0] * factor * (1 + n / 1000))
        for one, factor in zip(chosen, factors, strict=True) for n in (1, 2, 3)
    ]  # fmt: skip

    verified = verify(with_cycles(frame(found), found), chosen)

    assert verified["holds"] is holds
    assert verified["off"] == (None if off is None else pytest.approx(off, abs=0.001))
    text = show.verified_text(verified | {"folder": "results/x"})
    assert text.startswith("The choice holds" if holds else "The measurement does not confirm the choice")


def test_the_text_has_the_advice_and_its_basis_and_hostile_names_are_made_harmless() -> None:
    basis = {"latency_ns": 80 * MS, "cpu_ns": 0, "in_flight": 500, "run": "results/\x1b[31mx", "left_out": {"a": "why"},
             "measured_at": "2026-11-26T23:00:00.000+00:00",
             "machine_differs": ["cpu Other 1, here Imaginary 9000"]}  # fmt: skip

    text = show.text(advice(wanted(80, 0, 500), rows_of(500)) | basis, datetime(2026, 11, 28, 1, tzinfo=UTC))

    assert text.startswith("Use native_asyncio for 80 ms latency, no CPU work per page, 500 in flight.")
    for part in (
        "a: left out, why.",
        "another machine: cpu Other 1, here Imaginary 9000.",
        "with 500 in flight",
        "measured on 26 Nov 2026 (1 day ago)",
        "equal",
    ):
        assert part in text
    assert "\x1b" not in text
