"""Summaries of the timestamps of a crawl."""

from hypothesis import given
from hypothesis import strategies as st

from inflight.strategies.core.record import bucket_start, histogram, quantile, steady_state, summary, timeline

DURATIONS = st.lists(st.integers(0, 10**12), min_size=1, max_size=200)


def test_nothing_is_summed_up_as_nothing() -> None:
    assert summary([]) == {"count": 0}


def test_a_summary_is_made_of_real_samples() -> None:
    found = summary([5, 1, 4, 2, 3])

    assert (found["count"], found["mean_ns"], found["min_ns"], found["max_ns"]) == (5, 3, 1, 5)
    assert (found["p50_ns"], found["p90_ns"], found["p99_ns"], found["p999_ns"]) == (3, 5, 5, 5)


@given(DURATIONS, st.floats(0.001, 1))
def test_a_quantile_is_the_least_sample_that_so_many_do_not_exceed(values: list[int], share: float) -> None:
    ordered = sorted(values)

    found = quantile(ordered, share)

    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9
    assert sum(value < found for value in values) < share * len(values) + 1e-9


@given(DURATIONS)
def test_a_histogram_counts_every_value_within_its_precision(values: list[int]) -> None:
    counts = histogram(values)["counts"]

    assert sum(how_many for _, how_many in counts) == len(values)
    assert [least for least, _ in counts] == sorted({bucket_start(value) for value in values})
    for value in values:
        assert bucket_start(value) <= value <= bucket_start(value) * (1 + 1 / 64)
        assert bucket_start(bucket_start(value)) == bucket_start(value)


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 1000)), max_size=50))
def test_a_time_line_counts_every_span_once(pairs: list[tuple[int, int]]) -> None:
    spans = [(100 + start, 100 + start + length) for start, length in pairs]

    line = timeline(spans, 100, 7)

    assert sum(line["completions"]) == len(spans)
    assert len(line["in_flight"]) == len(line["completions"])
    for n, open_then in enumerate(line["in_flight"]):
        end = 100 + 7 * (n + 1)
        assert open_then == sum(start < end <= finish for start, finish in spans)


def a_full_loop(in_flight: int, fetches: int, service_ns: int) -> list[tuple[int, int]]:
    """Return the spans of an ideal closed loop: each worker fetches one after another."""
    return [
        (n * service_ns + worker, (n + 1) * service_ns + worker) for worker in range(in_flight) for n in range(fetches)
    ]


def test_littles_law_holds_for_an_ideal_loop() -> None:
    steady = steady_state(a_full_loop(10, 100, 1000), 10)

    assert steady is not None
    assert steady["mean_service_ns"] == 1000
    product = steady["completions"] / steady["window_ns"] * steady["mean_service_ns"]
    assert abs(product / steady["mean_in_flight"] - 1) < 0.02
    assert abs(steady["mean_in_flight"] - 10) < 0.1


def test_a_loop_that_was_never_full_has_no_steady_state() -> None:
    assert steady_state([], 1) is None
    assert steady_state([(0, 10), (1, 11)], 2) is None
    assert steady_state([(0, 10), (0, 11), (0, 12)], 2) is None, "all began at once"
    assert steady_state([(0, 100), (1, 100), (2, 100)], 2) is None, "nothing ended while it was full"
