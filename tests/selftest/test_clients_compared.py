"""Whether clients of one server agree, and how that is shown."""

import json
from pathlib import Path

import pytest

from inflight.bench.ab import clients
from inflight.bench.ab import clients_plot as plot_clients
from inflight.bench.ab import clients_show as told_of_clients
from inflight.bench.ab import rates as selftest
from inflight.bench.ab.clients import Comparison, Judged
from inflight.bench.measure.clients.run import CLIENTS, SECONDS, plan, trial
from inflight.bench.rows.files import Row
from inflight.bench.show import pictures
from tests.made_rows import MACHINE, MS
from tests.selftest.made_clients import AGREEING, client_row, client_rows
from tests.selftest.made_selftest import made_selftest

FAR = "the largest deviation from the expected throughput, in flight / (latency + the client's median time above it),"


def compared(rows: list[Row]) -> Comparison:
    found = clients.compare(rows)
    assert found is not None
    return found


def text(rows: list[Row]) -> str:
    """Return what a self-test says, made from what a file would have kept."""
    found = told_of_clients.tables(json.loads(json.dumps(compared(rows).to_dict(), allow_nan=False)), 100_000.0)
    lines = [", ".join(line) for one in found for line in one.cells]
    return "\n".join([*(one.title for one in found), *lines, *(note for one in found for note in one.notes)])


def rates(**by_name: tuple[float, ...]) -> Judged:
    """Judge the throughputs of 50 in flight at 50 ms, which let 1,000/s pass; own times of 0.4 ms make it 992/s."""
    return compared(client_rows(by_name)).latencies[0].per_s


def test_clients_with_the_ideal_figures_agree() -> None:
    judged = rates(locust=(980, 982, 981), wrk=(981, 982, 980), callbacks=(991, 990, 989))

    assert (judged.verdict, judged.who) == ("agree", ())
    assert judged.apart == pytest.approx(981 / 1000 * 50.4 / 50 - 1)


@pytest.mark.parametrize("name", ["locust", "wrk", "callbacks"])
@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_one_of_three_that_is_ten_percent_off_is_named(name: str, factor: float) -> None:
    judged = rates(**(AGREEING | {name: tuple(factor * one for one in AGREEING[name])}))

    assert (judged.verdict, judged.who) == ("off", (name,))
    assert judged.apart == pytest.approx(factor - 1, abs=0.02)


def test_two_clients_with_the_same_fault_do_not_outvote_a_correct_one() -> None:
    values = {"locust": (900.0, 901.0, 899.0), "callbacks": (905.0, 904.0, 906.0), "wrk": (998.0, 999.0, 1000.0)}

    judged = rates(**values)

    assert (judged.verdict, judged.who) == ("off", ("callbacks", "locust"))
    assert judged.apart == pytest.approx(900 / 992 - 1, abs=1e-3)
    told = text(client_rows(values))
    assert f"Throughput: OFF (callbacks and locust); {FAR} is -9.3 % (bound 3 %)" in told


def test_of_two_clients_the_one_that_is_off_is_named() -> None:
    judged = rates(locust=(900, 901, 902), callbacks=(990, 991, 992))

    assert (judged.verdict, judged.who) == ("off", ("locust",))


def test_an_impossible_figure_of_all_clients_is_blamed_on_the_server_or_the_machine() -> None:
    values = {"locust": (900.0, 901.0), "wrk": (860.0, 861.0), "callbacks": (930.0, 931.0)}

    judged = rates(**values)

    assert (judged.verdict, judged.who) == ("all off", ())
    assert f"Throughput: ALL OFF; {FAR} is -13 % (bound 3 %)" in text(client_rows(values))


def test_a_server_that_is_late_for_all_is_not_blamed_on_a_client() -> None:
    late = client_rows({"locust": (943, 944), "wrk": (944, 945), "callbacks": (945, 946)}, added_ns=3 * MS)

    (one,) = compared(late).latencies

    assert (one.added.verdict, one.added.apart) == ("all off", 3 * MS)
    assert one.per_s.verdict == "all off"


def test_clients_of_which_some_are_above_and_some_below_are_each_off() -> None:
    judged = rates(locust=(900, 901), wrk=(1080, 1081))

    assert (judged.verdict, judged.who) == ("off", ("locust", "wrk"))


@pytest.mark.parametrize("latency", ["10ms", "50ms"])
def test_what_clients_without_a_fault_measured_agrees(latency: str) -> None:
    seen = {
        "10ms": {"locust": (0.96, 0.32), "wrk": (0.955, 0.29), "callbacks": (0.97, 0.30)},
        "50ms": {"locust": (0.984, 0.62), "wrk": (0.982, 0.37), "callbacks": (0.990, 0.45)},
    }[latency]
    most = {"10ms": 5000, "50ms": 1000}[latency]
    rows = [
        client_row(name, share * most, latency=latency, number=number, added_ns=round(added_ms * MS))
        for name, (share, added_ms) in seen.items()
        for number in (1, 2, 3)
    ]

    (one,) = compared(rows).latencies

    assert (one.per_s.verdict, one.added.verdict) == ("agree", "agree")


def test_a_client_that_claims_more_than_its_own_times_allow_is_off() -> None:
    claims = [client_row("locust", 5000, latency="10ms", number=n, added_ns=MS) for n in (1, 2)]

    (one,) = compared([*claims, *client_rows({"wrk": (4800, 4810)}, latency="10ms")]).latencies

    assert (one.per_s.verdict, one.per_s.who) == ("off", ("locust",))


def test_no_slow_clock_excuses_a_throughput() -> None:
    slow = [client_row("locust", 900, number=n, added_ns=6 * MS) for n in (1, 2)]

    (one,) = compared([*slow, *client_rows({"wrk": (981, 982)})]).latencies

    assert one.per_s.who == one.added.who == ("locust",)


def test_clients_that_completed_nothing_are_off() -> None:
    judged = rates(locust=(0, 0), wrk=(0, 0), callbacks=(990, 991))

    assert (judged.verdict, judged.who, judged.apart) == ("off", ("locust", "wrk"), -1)
    assert rates(locust=(0, 0), wrk=(0, 0)).verdict == "all off"


@pytest.mark.parametrize("noisy", [(880, 985, 1100), (900, 905, 984), (980, 900, 1060)])
def test_rounds_that_vary_more_than_the_bound_leave_it_open(noisy: tuple[float, ...]) -> None:
    judged = rates(locust=noisy, wrk=(981, 982, 980), callbacks=(991, 990, 989))

    assert judged.verdict == "cannot be told"
    assert judged.why == "locust: rounds differ by more than the bound"


def test_one_bad_round_of_three_does_not_spoil_an_agreement() -> None:
    assert rates(locust=(980, 700, 981), wrk=(981, 982, 980), callbacks=(991, 990, 989)).verdict == "agree"


def test_one_round_may_show_agreement_but_never_an_error() -> None:
    assert rates(locust=(980,), wrk=(981,), callbacks=(990,)).verdict == "agree"
    judged = rates(locust=(880,), wrk=(981,), callbacks=(990,))
    assert (judged.verdict, judged.why) == ("cannot be told", "locust: one round is not enough for a verdict")


@pytest.mark.parametrize("values", [{}, {"wrk": (-0.01, -0.02)}])
def test_fewer_than_two_clients_are_no_comparison(values: dict[str, tuple[float, ...]]) -> None:
    assert clients.judge(values, 0.03).verdict == "cannot be told"


def test_a_time_is_compared_with_its_bound_in_nanoseconds() -> None:
    slow = [client_row("locust", 965, number=n, added_ns=3 * MS) for n in (1, 2)]
    others = client_rows({"wrk": (981, 982), "callbacks": (985, 986)})

    (one,) = compared([*slow, *others]).latencies

    assert one.per_s.verdict == "agree"
    assert (one.added.verdict, one.added.who) == ("off", ("locust",))
    assert one.added.apart == pytest.approx(3 * MS)


def test_a_client_whose_core_is_full_shows_its_own_ceiling_and_is_not_compared() -> None:
    full = [client_row("locust", 500, number=n, client_share=0.99) for n in (1, 2)]

    (one,) = compared([*full, *client_rows({"wrk": (981, 982), "callbacks": (985, 986)})]).latencies

    assert one.per_s.verdict == "agree"
    told = text([*full, *client_rows({"wrk": (981, 982), "callbacks": (985, 986)})])
    assert "99 %, 5 %, client" in told


def test_without_added_latency_nothing_is_compared() -> None:
    rows = [
        client_row("locust", 9_000, latency="0", client_share=1.0),
        client_row("callbacks", 60_000, latency="0", client_share=0.97),
        client_row("wrk", 95_000, latency="0", client_share=0.7, server_share=0.99),
    ]

    (one,) = compared(rows).latencies

    assert (one.per_s.verdict, one.added.verdict, one.ideal_per_s) == ("not compared", "not compared", None)
    told = text(rows)
    assert "a null client: 100,000 requests/s" in told
    assert "95,000" in told
    assert "70 %, 99 %, server" in told


def test_invalid_rows_are_excluded_and_missing_clients_are_named() -> None:
    invalid = [client_row("callbacks", 100, failed=7)]
    gone = [client_row("wrk", status="skipped", reason="wrk is not installed; get it with: apt install wrk")]

    told = text([*client_rows({"locust": (981, 982)}), *invalid, *gone])

    assert 'no figure: failed "no unexpected failures": 7 of 3000 requests, most frequent: socket: read' in told
    assert "no figure: wrk is not installed; get it with: apt install wrk" in told
    assert "no verdict" in told


def test_the_self_test_says_who_is_off_and_by_how_much_also_in_its_older_form() -> None:
    older = made_selftest()
    rows = client_rows(AGREEING | {"wrk": (880, 881, 882)})

    told = selftest.text(older | {"clients": compared(rows).to_dict()})

    assert "50 ms, 50 in flight, at most 1,000 requests/s" in told
    assert "Throughput: OFF (wrk); the largest deviation from the expected throughput" in told
    assert "Added latency: agree; the largest deviation from the latency is 0.40 ms (bound 1 ms)" in told
    assert told.startswith(selftest.text(older))
    assert selftest.text(older | {"clients": clients.compare([])}) == selftest.text(older)


def test_each_round_has_every_client_at_every_latency_in_its_own_order() -> None:
    trials = plan(3, seed=1)

    assert trials == plan(3, seed=1)
    assert len({one.id for one in trials}) == len(trials) == 3 * len(CLIENTS) * len(SECONDS)
    orders = [[one.id.rpartition("/")[0] for one in trials if one.round == number] for number in (1, 2, 3)]
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(orders[2])
    assert orders[0] != orders[1]


@pytest.mark.parametrize("latency", SECONDS)
def test_all_clients_of_a_latency_have_the_same_workload(latency: str) -> None:
    assert len({json.dumps(trial(name, latency).values) for name in CLIENTS}) == 1
    site = trial("wrk", latency).values["site"]
    assert site["pages"] % trial("wrk", latency).values["in_flight"] == 0


def test_the_plot_is_drawn_with_its_finding_as_its_title(tmp_path: Path) -> None:
    rows = client_rows(AGREEING) + client_rows({"wrk": (95_000.0,)}, latency="0")

    saved = pictures.save([plot_clients.picture(rows, MACHINE)], tmp_path)

    assert [path.name for path in saved] == ["clients.png", "clients.svg"]
    assert "no figure" in saved[1].read_text(encoding="utf-8")
    assert plot_clients.picture([], MACHINE) is None


@pytest.mark.parametrize(
    ("wrk", "outcome"), [((981, 982, 983), "agree"), ((880, 881, 882), "off: wrk"), ((880, 981, 1090), "no verdict")]
)
def test_the_title_says_who_is_off_or_that_there_is_no_verdict(wrk: tuple[float, ...], outcome: str) -> None:
    found = clients.compare(client_rows(AGREEING | {"wrk": wrk}))

    assert found is not None
    title = told_of_clients.title(found)
    assert "callbacks, locust and wrk" in title
    assert outcome in title
