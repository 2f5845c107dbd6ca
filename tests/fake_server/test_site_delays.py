"""Delays are inverse distribution functions, checked against quantiles known from elsewhere."""

import math
from collections.abc import Callable
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.fake_server.delays import CAP_NS, parse_delay, parse_duration_ns

MS = 1_000_000
KINDS = [
    "0",
    "50ms",
    "uniform 10ms 90ms",
    "exponential 50ms",
    "lognormal 50ms 400ms",
    "pareto 10ms 1.5",
    "pareto 10ms 1",
    "pareto 10ms 0.5",
    "bimodal 10ms 500ms 0.05",
]


@pytest.mark.parametrize(
    ("text", "u", "expected_ms"),
    [
        ("0", 0.5, 0),
        ("50ms", 0.999, 50),
        ("constant 50ms", 0.001, 50),
        ("uniform 10ms 90ms", 0.25, 30),
        ("exponential 50ms", 0.5, 50 * math.log(2)),
        ("exponential 50ms", 0.99, 50 * math.log(100)),
        ("lognormal 50ms 400ms", 0.5, 50),
        ("lognormal 50ms 400ms", 0.99, 400),
        ("pareto 10ms 1.5", 0.875, 40),
        ("bimodal 10ms 500ms 0.05", 0.94, 10),
        ("bimodal 10ms 500ms 0.05", 0.96, 500),
        ("bimodal 10ms 500ms 0", 0.9999, 10),
    ],
)
def test_quantiles_are_those_of_the_distribution(text: str, u: float, expected_ms: float) -> None:
    assert parse_delay(text).delay_ns(u) == pytest.approx(expected_ms * MS, rel=1e-9, abs=1)


@pytest.mark.parametrize("text", KINDS)
def test_the_mean_is_that_of_what_is_served(text: str) -> None:
    delay = parse_delay(text)
    steps = 20_000

    # The tail of pareto is so heavy that a regular grid misses some of it.
    assert delay.mean_ns == pytest.approx(fmean(delay.delay_ns((i + 0.5) / steps) for i in range(steps)), rel=0.02)


@given(
    st.sampled_from(KINDS),
    st.floats(0, 1, exclude_min=True, exclude_max=True),
    st.floats(0.0001, 0.9999),
)
def test_a_larger_draw_never_gives_a_smaller_delay(text: str, u: float, v: float) -> None:
    delay = parse_delay(text)

    low, high = delay.delay_ns(min(u, v)), delay.delay_ns(max(u, v))

    assert 0 <= low <= high <= CAP_NS


@pytest.mark.parametrize("text", ["exponential 50s", "lognormal 1s 60s", "pareto 1s 0.01"])
def test_unbounded_tails_are_cut_at_a_minute(text: str) -> None:
    assert parse_delay(text).delay_ns(1 - 2**-53) == CAP_NS
    assert parse_delay(text).mean_ns < CAP_NS


@pytest.mark.parametrize(
    ("text", "canonical"),
    {
        "0ms": "0",
        "constant 0.05s": "50ms",
        "  uniform  1000us 1.5ms ": "uniform 1ms 1500us",
        "5\u00b5s": "5us",
        "1m": "60s",
        "80 ms": "80ms",
        "constant 80 ms": "80ms",
        "uniform 10 ms  90 ms": "uniform 10ms 90ms",
        "pareto 10 ms 1.5": "pareto 10ms 1.5",
    }.items(),
)
def test_the_canonical_text_parses_to_an_equal_delay(text: str, canonical: str) -> None:
    delay = parse_delay(text)

    assert delay.text == canonical
    assert parse_delay(canonical) == delay


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "soon",
            "50 ms 60 ms",
            "-5ms",
            "61s",
            "constant",
            "uniform 10ms",
            "uniform 9ms 1ms",
            "lognormal 5ms 5ms",
        ),
        *(
            "exponential 0",
            "pareto 10ms 0",
            "pareto 0 1",
            "bimodal 1ms 2ms 1.5",
            "bimodal 1ms 2ms nan",
            "gauss 1ms",
        ),
    ],
)
def test_what_is_no_delay_is_refused_with_the_allowed_forms(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a latency .* write one of: .*lognormal") as refused:
        parse_delay(text)

    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "expected_ns"),
    {
        "0": 0,
        "1ns": 1,
        "2us": 2000,
        "2\u03bcs": 2000,
        "1.5ms": 1_500_000,
        "60s": 60_000_000_000,
        "5m": 300_000_000_000,
        "1h": 3_600_000_000_000,
        "80 ms": 80_000_000,
    }.items(),
)
def test_durations_are_read_in_every_unit(text: str, expected_ns: int) -> None:
    assert parse_duration_ns(text) == expected_ns


@pytest.mark.parametrize("text", ["", "ms", "1  ms", "-1ms", "1e3ms", "1d"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration_ns(text)


@pytest.mark.parametrize(
    ("parse", "text", "number"),
    [
        (parse_delay, "1.5", "1.5"),
        (parse_duration_ns, "1.5", "1.5"),
        (parse_delay, "uniform 10 90ms", "10"),
    ],
)
def test_a_number_without_a_unit_is_refused_with_the_units_to_write(
    parse: Callable[[str], object], text: str, number: str
) -> None:
    with pytest.raises(ValueError, match=rf"^{number} has no unit; write {number}ms or {number}s$"):
        parse(text)
