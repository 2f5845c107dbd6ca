"""A verdict as text, Markdown and JSON: what is in it, and that nothing in it breaks what it is put into."""

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from bench.present.verdict import Shown, lines, markdown, pair_line, rates_told, text, to_json

from bench import ab
from bench.analyse import pairs
from bench.analyse.decide import Decision, Rule
from bench.rows import Row
from tests.made_rows import MADE_MEMORY, pair_row

RULE = Rule(looks=(4,), shares=(1.0,))
HOSTILE = "a|b`c<d>\n# e\x1b[31m*f*"
WAITING: dict[str, Any] = {"latency": "50ms", "makespan_ns": (200e6, 200e6)}
RATES = {
    "made_at": "2026-01-02T03:04:05+00:00",
    "false_alarms": {"resampled": {"alarms": 1, "decisions": 300, "pairs": 104}},
    "detection": {"10": {"share": 1.0}, "5": {"share": 0.98}},
    "strategy": "callbacks",
    "machine": {"python": "CPython 3.11.7"},
    "noise": {"callbacks": {"cpu_per_page": 0.02}},
}


def series(change: float = 0.0, number: int = 4, *, noise: float = 0.002, **options: Any) -> list[Row]:
    """Return pairs whose side B takes ``change`` more CPU time, as a logarithm, give or take some noise."""
    found = []
    for n in range(1, number + 1):
        wobble = noise * ((n * 3) % 4 - 1.5)
        costs = (10e6, 10e6 * math.exp(change + wobble))
        controls = {"spin_ns": (4e6, 4e6 * (1 + wobble / 9)), "null_ns": (5e6, 5e6 * (1 - wobble / 9))}
        found.append(pair_row(n, **{"cpu_ns": costs} | controls | options))
    return found


def shown(found: Sequence[Row], rates: dict[str, Any] | None = None) -> Shown:
    return Shown(decided(found), pairs.tally(found), RULE, rates)


def decided(found: Sequence[Row]) -> Decision:
    return ab.decided(found, RULE)


def plain(found: Sequence[Row]) -> str:
    return text(shown(found), colour=False)


FAILED = [pair_row(n, status="failed", reason=f"it broke: {HOSTILE}", failed_side="B") for n in (1, 2, 3)]
NO_MEMORY = {"sizes": [240, 2200], "A": [], "B": [], "reason": f"side B with 240 in flight: {HOSTILE}"}
ALL = {
    "pass": series(),
    "regression": series(0.2),
    "inconclusive": series(noise=0.2),
    "better": series(-0.2),
    "not_gated": series(0.2, **WAITING),
    "with_memory": series(memory=MADE_MEMORY | {"B": [12_000_000, 14_100_000]}),
    "memory_failed": series(memory=NO_MEMORY),
    "memory_alone_failed": series(memory=NO_MEMORY, metrics=("memory",)),
    "all_failed": FAILED,
    "two_good_and_the_rest_failed": [*series(number=2, noise=2.0), *FAILED],
    "no_good_pair": [pair_row(n, red=True) for n in range(1, 9)],
    "nothing_is_a_measurement": series(cpu_ns=(0.0, 10e6), makespan_ns=(10e6, 10e6)),
    "one_pair": series(number=1),
    "huge": series(18.0),
    "hostile": series(0.2, labels=(HOSTILE, f"callbacks@{HOSTILE}")),
}
VERDICTS = {
    "pass": "pass",
    "regression": "regression",
    "inconclusive": "inconclusive",
    "better": "pass",
    "not_gated": "regression",
    "with_memory": "regression",
    "memory_failed": "inconclusive",
    "memory_alone_failed": "inconclusive",
    "all_failed": "regression",
    "two_good_and_the_rest_failed": "regression",
    "no_good_pair": "inconclusive",
    "nothing_is_a_measurement": "inconclusive",
    "one_pair": "inconclusive",
    "huge": "regression",
    "hostile": "regression",
}


@pytest.mark.parametrize("name", ALL)
def test_every_verdict_is_one_that_json_can_hold(name: str) -> None:
    found = to_json(shown(ALL[name]))

    again = json.loads(json.dumps(found, allow_nan=False))
    assert again == found
    assert again["verdict"] == VERDICTS[name]
    assert again["why"]
    for effect in again["effects"].values():
        assert 0 <= effect["low"] <= effect["ratio"] <= effect["high"]


@pytest.mark.parametrize("name", ALL)
def test_the_text_ends_with_the_verdict_and_why(name: str) -> None:
    decision = decided(ALL[name])

    assert plain(ALL[name]).splitlines()[-1] == f"{decision.verdict.upper()}: {decision.why}."


@pytest.mark.parametrize("name", ALL)
def test_nothing_in_a_verdict_moves_a_cursor_or_breaks_a_line(name: str) -> None:
    for line in (*plain(ALL[name]).splitlines(), *markdown(shown(ALL[name])).splitlines()):
        assert line.isprintable()
    assert not [line for line in plain(ALL[name]).splitlines() if line.startswith("#")]


@pytest.mark.parametrize("name", ALL)
def test_a_markdown_table_has_as_many_cells_in_every_line(name: str) -> None:
    table = [line for line in markdown(shown(ALL[name])).splitlines() if line.startswith("|")]

    assert len({line.replace("\\|", "").count("|") for line in table}) <= 1
    assert len(table) == (2 + len(lines(shown(ALL[name]))) if pairs.tally(ALL[name]).good else 0)


def test_markdown_shows_a_hostile_label_as_it_is() -> None:
    written = markdown(shown(ALL["hostile"]))

    assert r"- A a\|b\`c&lt;d&gt; \# e?\[31m\*f\*" in written
    assert "### inflight: regression" in written


def test_a_regression_has_its_figures_its_interval_and_what_could_have_been_seen() -> None:
    table = plain(ALL["regression"]).splitlines()
    (cpu,) = (line for line in table if line.startswith("CPU per page"))

    assert table[:3] == [
        "A  callbacks",
        "B  generators",
        "300 pages a turn, no added latency, 100 in flight, keep-alive, 8 turns a pair",
    ]
    assert cpu.split("  ")[0] == "CPU per page"
    assert "33.4 µs" in cpu
    assert "+22.1 %" in cpu
    assert "detectable: the least change" in plain(ALL["regression"])


def test_throughput_is_told_in_its_own_direction() -> None:
    effects = to_json(shown(ALL["regression"]))["effects"]

    assert effects["cpu_per_page"]["ratio"] == pytest.approx(math.exp(0.2), rel=0.01)
    assert effects["throughput"]["ratio"] == pytest.approx(math.exp(-0.2), rel=0.01)
    assert effects["throughput"]["low"] < effects["throughput"]["ratio"] < effects["throughput"]["high"]
    (line,) = (one for one in lines(shown(ALL["regression"])) if one.metric == "throughput")
    assert line.change.startswith("-18.")


def test_throughput_that_is_not_gated_is_shown_with_the_reason() -> None:
    found = to_json(shown(ALL["not_gated"]))

    assert found["verdict"] == "regression"
    assert set(found["effects"]) == {"cpu_per_page"}
    assert found["not_gated"]["throughput"].startswith("not gated: ")
    assert "not gated: " in plain(ALL["not_gated"])
    assert "1,500 pages/s" in plain(ALL["not_gated"])


def test_no_change_has_no_sign_of_a_change() -> None:
    assert "-0.0" not in plain(ALL["pass"])


def test_memory_that_was_asked_for_and_not_had_is_shown_with_the_reason_and_keeps_a_pass_away() -> None:
    found = to_json(shown(ALL["memory_failed"]))

    assert found["verdict"] == "inconclusive"
    assert "user memory per fetch has only 0 of the 4 values" in found["why"]
    assert found["not_gated"]["memory"].startswith("side B with 240 in flight: ")
    assert "side B with 240 in flight" in plain(ALL["memory_failed"])
    assert to_json(shown(ALL["memory_alone_failed"]))["verdict"] == "inconclusive"


def test_memory_that_was_had_is_told_per_fetch() -> None:
    found = to_json(shown(ALL["with_memory"]))["effects"]["memory"]

    assert found["median"] == {"A": pytest.approx(2_000_000 / 1960), "B": pytest.approx(2_100_000 / 1960)}
    assert found["ratio"] == pytest.approx(1.05)
    assert "user memory per fetch         1.02 kB         1.07 kB  +5.0 %" in plain(ALL["with_memory"])


def test_without_a_good_pair_it_says_so_and_why() -> None:
    found = plain(ALL["no_good_pair"])

    assert found.splitlines()[0] == "no good pair"
    assert "8 of 8 pairs left out: server had room (8)" in found
    assert to_json(shown(ALL["no_good_pair"]))["dropped"] == 8


def test_failed_pairs_are_counted_by_side_with_their_reason() -> None:
    found = to_json(shown(ALL["all_failed"]))

    assert (found["verdict"], found["failed"], found["dropped"]) == ("regression", {"A": 0, "B": 3}, 0)
    assert "3 of 3 pairs left out: B: it broke: a|b" in plain(ALL["all_failed"])


def test_colour_is_only_where_it_is_asked_for() -> None:
    assert "\x1b[1;31mREGRESSION\x1b[0m: " in text(shown(ALL["regression"]), colour=True)
    assert "\x1b" not in plain(ALL["regression"])


def test_error_rates_are_called_designed_until_they_have_been_measured() -> None:
    assert rates_told(None, RULE).startswith("error rates, designed: a false alarm in at most 0.5 % of comparisons")
    assert rates_told(RATES, RULE) == (
        "error rates, measured on this machine (callbacks, CPython 3.11.7, 2026-01-02): 1 alarms in 300 decisions "
        "simulated with 104 pairs without a change; "
        "98 % of planted 5 % slowdowns found; 100 % of planted 10 % slowdowns found"
    )
    assert "its pairs varied by 2.0 % in CPU time, these by 0.3 %" in text(shown(ALL["pass"], RATES), colour=False)
    assert to_json(shown(ALL["pass"]))["error_rates"] == "designed"
    assert to_json(shown(ALL["pass"], RATES))["error_rates"] == {"measured": RATES["made_at"]}


def test_each_pair_is_told_in_one_line_and_a_look_with_its_decision() -> None:
    first, last = series(0.2)[0], series(0.2)[-1]

    assert pair_line(first, decided([first])).startswith("pair  1  CPU per page +")
    assert "throughput -" in pair_line(first, decided([first]))
    assert pair_line(last, decided(series(0.2))).count("\n") == 0  # the verdict follows by itself
    open_still = ab.decided(series(0.045, noise=0.02), Rule(looks=(4, 8), shares=(0.5, 0.5)))
    assert "\nneither worse nor ruled out" in pair_line(last, open_still)


@pytest.mark.parametrize("row", [*FAILED, pair_row(5, red=True)], ids=lambda row: f"{row.round}-{row.status}")
def test_a_pair_that_is_left_out_is_told_in_one_line_too(row: Row) -> None:
    line = pair_line(row, decided([row]))

    assert line.isprintable()
    assert f"pair  {row.round}  left out: " in line
