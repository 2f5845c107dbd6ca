"""The maths: against scipy, against known values, and by properties that must hold for any data."""

import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inflight.bench.frame.slopes import MAX_BEND, NoSlope, Slope, memory_slope

SIZES = (400, 800, 1200, 1600, 2000)
jitters = st.lists(st.integers(-50_000, 50_000), min_size=10, max_size=10)


def slope_of(jitter: list[int], per_fetch: int = 3000, shift: int = 0, scale: int = 1) -> Slope:
    in_flight = [n for n in SIZES for _ in range(2)]
    memory = [scale * (shift + per_fetch * n + noise) for n, noise in zip(in_flight, jitter, strict=True)]
    found = memory_slope(in_flight, memory)
    assert isinstance(found, Slope)
    return found


def test_the_slope_of_a_line_without_noise_is_exact_and_so_is_its_interval() -> None:
    found = memory_slope(SIZES, [5_000_000 + 2500 * n for n in SIZES])

    assert isinstance(found, Slope)
    assert (found.estimate, found.low, found.high, found.intercept) == pytest.approx((2500, 2500, 2500, 5_000_000))
    assert (found.is_straight, found.points, found.sizes) == (True, 5, 5)


def test_the_interval_is_that_of_scipys_regression_on_the_medians() -> None:
    from scipy.stats import linregress, t

    readings = {n: (10**6 + 990 * n, 10**6 + 1000 * n + 5000 * (n % 7), 10**6 + 1400 * n) for n in SIZES}
    found = memory_slope([n for n in SIZES for _ in range(3)], [size for own in readings.values() for size in own])
    known = linregress(SIZES, [own[1] for own in readings.values()])
    half = t.ppf(0.975, 3) * known.stderr

    assert isinstance(found, Slope)
    assert (found.estimate, found.intercept) == pytest.approx((known.slope, known.intercept))
    assert (found.low, found.high) == pytest.approx((known.slope - half, known.slope + half))


@pytest.mark.parametrize("sizes", [(1, 2, 3, 4), (5, 5, 5, 5, 5, 5), (1, 2, 3, 4, 4, 3)])
def test_fewer_than_five_different_sizes_give_no_slope_but_a_reason(sizes: tuple[int, ...]) -> None:
    found = memory_slope(sizes, [1000 * n for n in sizes])

    assert found == NoSlope(f"needs 5 different numbers in flight, has {len(set(sizes))}")


@settings(deadline=None, max_examples=40)
@given(jitters, st.integers(2, 1000))
def test_the_slope_scales_with_the_memory(jitter: list[int], factor: int) -> None:
    one, scaled = slope_of(jitter), slope_of(jitter, scale=factor)

    assert scaled.is_straight == one.is_straight
    assert [scaled.estimate, scaled.low, scaled.high] == pytest.approx(
        [factor * one.estimate, factor * one.low, factor * one.high], rel=1e-6, abs=1e-3 * factor
    )


@settings(deadline=None, max_examples=40)
@given(jitters, st.integers(0, 10**8))
def test_the_memory_of_the_empty_process_does_not_change_the_slope(jitter: list[int], base: int) -> None:
    one, shifted = slope_of(jitter), slope_of(jitter, shift=base)

    assert [shifted.estimate, shifted.low, shifted.high] == pytest.approx(
        [one.estimate, one.low, one.high], rel=1e-6, abs=1e-3
    )


UNEVEN = (500, 640, 900, 1150, 1480, 1820, 2150, 2500)
"""Evenly spaced sizes would meet the steps of arenas at regular phases, which chance does not."""


@pytest.mark.parametrize("processes", [1, 3])
@pytest.mark.parametrize("arena_bytes", [1, 1 << 20])
def test_the_interval_covers_the_true_slope_in_95_of_100_runs(processes: int, arena_bytes: int) -> None:
    random, hits = Random(processes), 0
    for _ in range(400):
        in_flight, memory, truth = run_of_processes(random, processes, arena_bytes)
        found = memory_slope(in_flight, memory)
        assert isinstance(found, Slope)
        hits += found.low <= truth <= found.high

    assert 0.90 <= hits / 400 <= 0.99


def run_of_processes(random: Random, processes: int, arena_bytes: int) -> tuple[list[int], list[int], float]:
    """Return sizes, memory and the true slope: steps that all processes of a size share, arenas, and jitter.

    As seen in memory runs: processes of one size differ by 17 kB (SD), sizes from their line by 50 to 300 kB.
    """
    per_fetch, base = random.uniform(1000, 7000), random.uniform(12e6, 13e6)
    in_flight, memory = [], []
    for n in UNEVEN:
        step = random.uniform(-150e3, 150e3)
        for _ in range(processes):
            needed = base + per_fetch * n + step + random.gauss(0, 17e3)
            in_flight.append(n)
            memory.append(math.ceil(needed / arena_bytes) * arena_bytes + round(random.gauss(0, 17e3)))
    return in_flight, memory, per_fetch


def test_a_bent_line_is_reported_as_the_range_of_its_halves() -> None:
    found = memory_slope(SIZES, [1000 * n if n <= 1200 else 1_200_000 + 4000 * (n - 1200) for n in SIZES])

    assert isinstance(found, Slope)
    assert not found.is_straight
    assert (found.low, found.high) == pytest.approx((1000, 4000))


def test_a_bent_line_with_noise_is_a_range_that_contains_both_slopes() -> None:
    sizes = list(range(100, 1000, 100))
    memory = [1000 * n + 4000 * max(0, n - 500) + 7000 * (n // 100 % 3) for n in sizes]
    found = memory_slope(sizes, memory)

    assert isinstance(found, Slope)
    assert not found.is_straight
    assert found.low < 1000 < found.estimate < 5000 < found.high


def test_a_bend_smaller_than_the_noise_is_ignored() -> None:
    jitter = [40_000, -40_000, 30_000, -30_000, -45_000, 45_000, 38_000, -38_000, 41_000, -41_000]

    assert slope_of(jitter).is_straight


def test_a_bend_that_is_not_visible_is_ignored() -> None:
    slight = round(1000 * MAX_BEND / 2)
    found = memory_slope(SIZES, [1000 * n if n <= 1200 else 1_200_000 + (1000 + slight) * (n - 1200) for n in SIZES])

    assert isinstance(found, Slope)
    assert found.is_straight
