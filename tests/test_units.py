"""Numbers as people read them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.bench import units

FACTORS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}


@pytest.mark.parametrize(
    ("value", "text"),
    {
        0: "0 ns",
        1: "1 ns",
        999: "999 ns",
        999.7: "1.00 µs",
        12_400: "12.4 µs",
        999_499: "999 µs",
        999_500: "1.00 ms",
        50_000_000: "50.0 ms",
        999_999_999: "1.00 s",
        123_456_000_000_000: "123,000 s",
    }.items(),
)
def test_durations(value: float, text: str) -> None:
    assert units.duration(value) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (16_600, 3, "16.6 kB"),
        (16_600, 2, "17 kB"),
        (400.4, 3, "400 B"),
        (-1500, 2, "-1.5 kB"),
        (25e9, 3, "25.0 GB"),
    ],
)
def test_sizes(value: float, digits: int, text: str) -> None:
    assert units.size(value, digits) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (9812, 3, "9,810"),
        (9812, 2, "9,800"),
        (12.35, 3, "12.3"),
        (0.01234, 3, "0.0123"),
        (0, 3, "0"),
        (999.9, 2, "1,000"),
    ],
)
def test_numbers(value: float, digits: int, text: str) -> None:
    assert units.number(value, digits) == text


def test_rates_counts_and_ratios() -> None:
    assert units.rate(9812.3) == "9,810 pages/s"
    assert units.count(1000) == "1,000"
    assert units.times(18.9) == "19x"
    assert units.times(0.83) == "0.83x"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (50e6, "50 ms"),
        (0.5e6, "500 µs"),
        (100e6, "100 ms"),
        (2.5e9, "2.5 s"),
        (1, "1 ns"),
    ],
)
def test_ticks_have_no_zeros_that_say_nothing(value: float, text: str) -> None:
    assert units.duration_tick(value) == text


def test_a_range_is_written_in_one_unit() -> None:
    assert units.size_between(940, 8600, 2) == "0.94 to 8.6 kB"


@pytest.mark.parametrize(
    ("words", "text"),
    {
        "0": "no added latency",
        "50ms": "50 ms",
        "10us": "10 µs",
        "lognormal 50ms 400ms": "lognormal (p50 50 ms, p99 400 ms)",
        "pareto 10ms 1.5": "pareto (minimum 10 ms, shape 1.5)",
        "bimodal 10ms 500ms 0.05": "bimodal (10 ms, and 500 ms with probability 0.05)",
    }.items(),
)
def test_latencies(words: str, text: str) -> None:
    assert units.latency(words) == text


@pytest.mark.parametrize("write", [units.duration, units.size])
@given(st.integers(0, 10**12), st.integers(2, 3))
def test_no_unit_below_the_last_ever_shows_a_thousand(write: units.Write, value: int, digits: int) -> None:
    number, unit = write(value, digits).split()

    assert unit in {"s", "GB"} or float(number.replace(",", "")) < 1000


@pytest.mark.parametrize("write", [units.duration, units.size])
@given(st.integers(1, 10**12), st.integers(2, 4))
def test_what_is_written_is_within_half_a_digit_of_the_value(write: units.Write, value: int, digits: int) -> None:
    number, unit = write(value, digits).split()

    assert float(number.replace(",", "")) * FACTORS[unit] == pytest.approx(value, rel=0.5001 * 10 ** (1 - digits))


@pytest.mark.parametrize(
    ("logarithm", "text"),
    [
        (0.0, "+0.0 %"),
        (-1e-5, "+0.0 %"),
        (math.log(1.051), "+5.1 %"),
        (math.log(2.3), "+130 %"),
        (3, "20x"),
        (-9, "0.00012x"),
        (math.nan, "unknown"),
    ],
)
def test_changes_are_written_as_people_read_them(logarithm: float, text: str) -> None:
    assert units.change(logarithm) == text


def test_the_interval_of_a_change_rises() -> None:
    assert units.change_between(math.log(1.02), math.log(1.05)) == "+2.0 to +5.0 %"
    assert units.change_between(-math.log(1.02), -math.log(1.05)) == "-4.8 to -2.0 %"
    assert units.change_between(math.log(1.5), math.log(20)) == "+50.0 % to 20x"


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("500MB", 500_000_000),
        ("2 GB", 2_000_000_000),
        ("1.5k", 1500),
        ("7B", 7),
    ],
)
def test_a_size_is_read_with_its_unit(text: str, size_bytes: int) -> None:
    assert units.parse_size_bytes(text) == size_bytes


def test_a_size_without_a_unit_is_refused_with_the_units_to_write() -> None:
    with pytest.raises(ValueError, match=r"^4 has no unit; write 4kB, 4MB or 4GB$"):
        units.parse_size_bytes("4")
