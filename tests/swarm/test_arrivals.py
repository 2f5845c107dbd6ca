"""The arithmetic of open loops with simulated servers: when a rate is kept, and what closed loops omit."""

from heapq import heapify, heappop, heappush
from itertools import count
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from inflight.bench.measure.swarm.schedule import MOMENTS, NO_ANSWER, Recorder, Schedule, Span, peak_in_flight

S = 10**9
MS = 10**6
rates = st.floats(0.01, 100_000, allow_nan=False) | st.integers(1, 100_000)


class Server:
    """A server that answers requests one by one, each in the same time, and none during a stall."""

    def __init__(self, service_ns: int, *, stall: tuple[int, int] = (0, 0), one_by_one: bool = True) -> None:
        self.service_ns, self.stall, self.one_by_one = service_ns, stall, one_by_one
        self._free_ns = 0

    def answer_ns(self, sent_ns: int) -> int:
        begin = max(sent_ns, self._free_ns) if self.one_by_one else sent_ns
        done = begin + self.service_ns
        if done > self.stall[0] and begin < self.stall[1]:
            done = self.stall[1] + self.service_ns
        self._free_ns = done
        return done


class RandomServer(Server):
    """A server that takes a random time for each request, independent of other requests."""

    def __init__(self, mean_ns: float, draw: Random) -> None:
        super().__init__(0)
        self._mean_ns, self._draw = mean_ns, draw

    def answer_ns(self, sent_ns: int) -> int:
        return sent_ns + round(self._draw.expovariate(1 / self._mean_ns))


def opened(rate: float, seconds: float, users: int, server: Server) -> Recorder:
    """Simulate an open loop with a second of warm-up: the next free user takes the next arrival."""
    schedule, end_ns = Schedule(rate, 0), S + round(seconds * S)
    recorder, free_ns = Recorder(schedule, S, end_ns), [0] * users
    heapify(free_ns)
    for number in count():
        due_ns = schedule.due_ns(number)
        started_ns = max(due_ns, free_ns[0])
        if due_ns >= end_ns or started_ns > end_ns + 2 * S:
            return recorder
        if due_ns < S <= started_ns:
            continue  # the window begins without debts
        heappop(free_ns)
        finished_ns = server.answer_ns(started_ns)
        heappush(free_ns, finished_ns)
        recorder.note(due_ns, started_ns, finished_ns)
    raise AssertionError


@given(rates, st.integers(0, 10**6), st.integers(-(10**12), 10**12))
def test_the_number_due_matches_the_due_times(rate: float, number: int, begin_ns: int) -> None:
    schedule = Schedule(rate, begin_ns)
    at_ns = schedule.due_ns(number)

    assert schedule.due_by(at_ns) >= number + 1
    assert schedule.due_by(at_ns - 1) <= number
    assert schedule.due_by(begin_ns - 1) == 0


def test_arrivals_do_not_drift() -> None:
    third = Schedule(3, 0)

    assert [third.due_ns(n) for n in (0, 1, 2, 3, 3 * 10**9)] == [0, 333333333, 666666666, S, 10**9 * S]


@settings(max_examples=30)
@given(st.integers(20, 1000), st.integers(1, 4), st.floats(0.01, 0.9))
def test_a_server_with_room_keeps_the_rate(rate: int, seconds: int, load: float) -> None:
    kept = opened(rate, seconds, 50, Server(round(load * S / rate))).outcome()

    assert (kept["kept"], kept["why"]) == (True, None)
    assert kept["arrivals"] == kept["started"] == kept["completed"] == rate * seconds
    assert set(kept["backlog"]["waiting"]) <= {0}
    assert kept["corrected"] == kept["uncorrected"]
    assert not kept["errors"]


@settings(max_examples=30)
@given(st.integers(200, 600), st.integers(3, 5), st.floats(1.15, 5), st.sampled_from([1, 10, 10_000]))
@example(200, 3, 1.1875, 10_000)  # owes 32 more in each second: less than noise in the last third, but in each quarter
def test_a_server_slower_than_the_rate_never_keeps_it(rate: int, seconds: int, load: float, users: int) -> None:
    lost = opened(rate, seconds, users, Server(round(load * S / rate))).outcome()

    assert not lost["kept"]
    assert lost["not_kept"] == "too slow"
    assert lost["completed_per_s"] < rate
    assert lost["peak_in_flight"] <= users


def test_a_stall_is_in_the_corrected_times_and_not_in_the_uncorrected_ones() -> None:
    stalled = opened(100, 10, 1, Server(MS, stall=(5 * S, 6 * S))).outcome()

    assert stalled["completed"] == 1000
    assert stalled["uncorrected"]["p99_ns"] == MS  # one request in a thousand was slow, the user says
    assert stalled["corrected"]["p99_ns"] > 850 * MS  # a hundred were due meanwhile
    assert stalled["corrected"]["max_ns"] == stalled["uncorrected"]["max_ns"]
    assert max(stalled["backlog"]["waiting"]) >= 95
    assert stalled["kept"]  # it has caught up long before the end
    assert stalled["hole_ns"] == S + 10 * MS  # from the answer before the stall to the first one after it


def test_a_latency_as_long_as_a_third_of_the_window_is_no_trend() -> None:
    slow = opened(100, 6, 1000, Server(2 * S, one_by_one=False)).outcome()

    assert slow["kept"]
    assert slow["uncorrected"]["p50_ns"] == 2 * S


@pytest.mark.parametrize(("rate", "latency_ns", "seconds"), [(50, 5 * S, 5), (100, 3 * S, 6), (1, 5 * S, 3)])
def test_a_latency_beyond_a_third_of_the_window_allows_no_verdict(rate: int, latency_ns: int, seconds: int) -> None:
    filling = opened(rate, seconds, 1000, Server(latency_ns, one_by_one=False)).outcome()

    assert not filling["kept"]
    assert filling["not_kept"] == "window too short"
    assert filling["why"].endswith(f"it must last {3 * latency_ns // S} s at least")
    assert filling["corrected"] == filling["uncorrected"]


@pytest.mark.parametrize(
    ("rate", "service_ms", "words"),
    [
        (20, 60, "sent later and later: 1.8 s late"),
        (10, 125, "3 of 100 due requests were never sent"),
        (1, 3000, "of 10 due requests were never sent"),
        (1.5, 700, "sent later and later"),
    ],
)
def test_a_rate_slightly_above_the_capacity_of_one_user_is_not_kept(rate: float, service_ms: int, words: str) -> None:
    lost = opened(rate, 10, 1, Server(service_ms * MS)).outcome()

    assert not lost["kept"]
    assert lost["not_kept"] == "too slow"
    assert words in lost["why"]


@pytest.mark.parametrize("stall_s", [(2, 3), (4, 5), (8, 9), (10, 10.5)])
def test_a_rate_is_kept_if_the_server_catches_up_after_a_stall(stall_s: tuple[float, float]) -> None:
    stall = round(stall_s[0] * S), round(stall_s[1] * S)

    assert opened(100, 10, 1, Server(MS, stall=stall)).lost() is None


@pytest.mark.parametrize(("rate", "users"), [(20, 1), (100, 1), (100, 4)])
def test_a_random_queue_below_its_capacity_rarely_counts_as_a_lost_rate(rate: int, users: int) -> None:
    draw = Random(3)

    lost = sum(
        opened(
            rate,
            10,
            users,
            RandomServer(0.9 * users * S / rate, draw),
        ).lost()
        is not None
        for _ in range(60)
    )

    assert lost <= 6


def test_the_backlog_covers_the_whole_window() -> None:
    backlog = opened(50, 2, 1, Server(MS)).outcome()["backlog"]

    assert len(backlog["at_ns"]) == len(backlog["waiting"]) == MOMENTS + 1
    assert (backlog["at_ns"][0], backlog["at_ns"][-1]) == (0, 2 * S - 1)


def test_the_warm_up_is_counted_nowhere() -> None:
    recorder = Recorder(Schedule(10, 0), S, 2 * S)
    recorder.note(0, 0, 1, "reset")
    recorder.note(S, S, S + MS)

    outcome = recorder.outcome()
    assert (outcome["arrivals"], outcome["started"], outcome["completed"], outcome["errors"]) == (10, 1, 1, {})


def test_failures_and_requests_given_up_have_no_response_times() -> None:
    recorder = Recorder(Schedule(10, 0), 0, S)
    recorder.note(0, 0, MS)
    recorder.note(100 * MS, 100 * MS, 101 * MS, "status 500")
    recorder.note(200 * MS, 200 * MS, None)

    outcome = recorder.outcome()
    assert (outcome["started"], outcome["completed"], outcome["failed"]) == (3, 1, 2)
    assert outcome["errors"] == {"status 500": 1, NO_ANSWER: 1}
    assert outcome["corrected"]["count"] == outcome["uncorrected"]["count"] == 1


def test_a_request_that_ends_when_another_begins_is_not_in_flight_with_it() -> None:
    assert peak_in_flight([Span(0, 0, 5, None), Span(5, 5, 9, None), Span(6, 6, None, None)]) == 2
    assert peak_in_flight([]) == 0
