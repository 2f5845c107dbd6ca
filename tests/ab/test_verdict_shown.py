"""A verdict as text, Markdown and JSON: what is in it, and that nothing in it breaks what it is put into."""

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest

from bench.studies.compare import read
from bench.studies.compare.decide import Decision, Rule
from bench.studies.compare.show import Shown, block_line, lines, markdown, rates_told, text, to_json
from tests.made_blocks import TIMED, Rows, block, blocks

RULE = Rule(looks=(4,), shares=(1.0,))
HOSTILE = "a|b`c<d>\n# e\x1b[31m*f*"
WAITING: dict[str, Any] = {"latency": "50ms", "throughput": 0.0, "share": 0.12, "gated": ("cpu_per_page",)}
RATES = {
    "made_at": "2026-01-02T03:04:05+00:00",
    "false_alarms": {"resampled": {"alarms": 1, "decisions": 300, "blocks": 104}},
    "detection": {
        "10": {"share": 1.0, "seen": math.log(1.081), "low": math.log(1.07), "high": math.log(1.092)},
        "5": {"share": 0.98, "seen": math.log(1.048), "low": math.log(1.041), "high": math.log(1.055)},
    },
    "strategy": "callbacks",
    "machine": {"python": "CPython 3.11.7"},
    "noise": {"callbacks": {"cpu_per_page": 0.02}},
}


def series(change: float = 0.0, number: int = 4, *, noise: float = 0.002, **options: Any) -> list[Rows]:
    """Return blocks whose side B takes ``change`` more CPU time, as a logarithm, give or take some noise."""
    found = []
    for n in range(1, number + 1):
        wobble = noise * ((n * 3) % 4 - 1.5)
        values: dict[str, Any] = {"cpu": change + wobble, "metrics": TIMED}
        values |= {"placebo": 0.003 * (n % 3 - 1), "placebo_throughput": 0.002 * (n % 2 - 0.5)}
        found.append(block(n, **values | options))
    return found


def shown(found: Sequence[Rows], rates: dict[str, Any] | None = None) -> Shown:
    return Shown(decided(found), blocks(found), RULE, rates)


def decided(found: Sequence[Rows]) -> Decision:
    return read.decided(blocks(found), RULE)


def plain(found: Sequence[Rows]) -> str:
    return text(shown(found), colour=False)


def the_line(rows: Rows, decision: Decision) -> str:
    return block_line(blocks([rows])[0], decision)


FAILED = [block(n, failed="B", reason=f"it broke: {HOSTILE}") for n in (1, 2, 3)]
NO_MEMORY: dict[str, Any] = {"memory_red": f"3 connections {HOSTILE}", "metrics": (*TIMED, "memory")}
ALL = {
    "pass": series(),
    "regression": series(0.2),
    "inconclusive": series(noise=0.2),
    "better": series(-0.2),
    "not_gated": series(0.2, **WAITING),
    "with_memory": series(memory=math.log(1.05), metrics=(*TIMED, "memory")),
    "memory_failed": series(**NO_MEMORY),
    "memory_alone_failed": series(**NO_MEMORY | {"metrics": ("memory",)}),
    "all_failed": FAILED,
    "two_good_and_the_rest_failed": [*series(number=2, noise=2.0), *(block(n, failed="B") for n in (3, 4, 5))],
    "no_good_block": [block(n, red=True) for n in range(1, 9)],
    "one_block": series(number=1),
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
    "no_good_block": "inconclusive",
    "one_block": "inconclusive",
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
    assert len(table) == (2 + len(lines(shown(ALL[name]))) if shown(ALL[name]).tally.good else 0)


def test_markdown_shows_a_hostile_label_as_it_is() -> None:
    written = markdown(shown(ALL["hostile"]))

    assert r"- A a\|b\`c&lt;d&gt; \# e?\[31m\*f\*" in written
    assert "### inflight: regression" in written


def test_a_regression_has_its_figures_its_interval_and_what_could_have_been_seen() -> None:
    table = plain(ALL["regression"]).splitlines()
    (cpu,) = (line for line in table if line.startswith("CPU per page"))

    assert table[0] == "the same code, measured twice, differs by 0.0 % (95 %: -0.4 to +0.4 %)"
    assert table[1:4] == [
        "A  callbacks",
        "B  generators",
        "no added latency, 100 in flight, keep-alive, 6 cycles of slices per block",
    ]
    assert cpu.split("  ")[0] == "CPU per page"
    assert "33.3 µs" in cpu
    assert "+22.1 %" in cpu
    assert "change: the mean over the blocks" in plain(ALL["regression"])


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
    assert found["not_gated"]["throughput"].startswith("not gated, because ")
    assert "the core of a side was busy for 12% at most" in plain(ALL["not_gated"])


def test_no_change_has_no_sign_of_a_change() -> None:
    assert "-0.0" not in plain(ALL["pass"])


def test_memory_that_was_asked_for_and_not_had_is_shown_with_the_reason_and_keeps_a_pass_away() -> None:
    found = to_json(shown(ALL["memory_failed"]))

    assert found["verdict"] == "inconclusive"
    assert "user memory per fetch has only 0 of the 4 values" in found["why"]
    assert found["not_gated"]["memory"].startswith("no listen drops: 3 connections")
    assert "no listen drops: 3 connections" in plain(ALL["memory_failed"])
    assert to_json(shown(ALL["memory_alone_failed"]))["verdict"] == "inconclusive"


def test_memory_that_was_had_is_told_per_fetch() -> None:
    found = to_json(shown(ALL["with_memory"]))["effects"]["memory"]

    assert found["median"] == {"A": pytest.approx(2_000_000 / 1960), "B": pytest.approx(2_100_000 / 1960)}
    assert found["ratio"] == pytest.approx(1.05)
    assert "user memory per fetch         1.02 kB         1.07 kB  +5.0 %" in plain(ALL["with_memory"])


def test_without_a_good_block_it_says_so_and_why() -> None:
    found = plain(ALL["no_good_block"])

    assert found.splitlines()[0] == "no good block"
    assert "8 of 8 blocks left out: server had room (8)" in found
    assert to_json(shown(ALL["no_good_block"]))["dropped"] == 8


def test_failed_blocks_are_counted_by_side_with_their_reason() -> None:
    found = to_json(shown(ALL["all_failed"]))

    assert (found["verdict"], found["failed"], found["dropped"]) == ("regression", {"A": 0, "B": 3}, 0)
    assert "3 of 3 blocks left out: B: it broke: a|b" in plain(ALL["all_failed"])


def test_colour_is_only_where_it_is_asked_for() -> None:
    assert "\x1b[1;31mREGRESSION\x1b[0m: " in text(shown(ALL["regression"]), colour=True)
    assert "\x1b" not in plain(ALL["regression"])


def test_error_rates_are_called_designed_until_they_have_been_measured() -> None:
    assert rates_told(None, RULE).startswith("error rates, designed: a false alarm in at most 0.5 % of comparisons")
    assert rates_told(RATES, RULE) == (
        "error rates, measured on this machine (callbacks, CPython 3.11.7, 2026-01-02): 1 alarms in 300 decisions "
        "simulated with 104 blocks without a change; "
        "a planted slowdown of 4.8 % (95 %: 4.1 to 5.5 %) found in 98 %; "
        "a planted slowdown of 8.1 % (95 %: 7.0 to 9.2 %) found in 100 %"
    )
    assert "its blocks varied by 2.0 % in CPU time, these by 0.3 %" in text(shown(ALL["pass"], RATES), colour=False)
    assert to_json(shown(ALL["pass"]))["error_rates"] == "designed"
    assert to_json(shown(ALL["pass"], RATES))["error_rates"] == {"measured": RATES["made_at"]}


def test_each_block_is_told_in_one_line_and_a_look_with_its_decision() -> None:
    first, last = series(0.2)[0], series(0.2)[-1]

    assert the_line(first, decided([first])).startswith("block  1  CPU per page +")
    assert "throughput -" in the_line(first, decided([first]))
    assert the_line(last, decided(series(0.2))).count("\n") == 0  # the verdict follows by itself
    open_still = read.decided(blocks(series(0.045, noise=0.02)), Rule(looks=(4, 8), shares=(0.5, 0.5)))
    assert "\nneither worse nor ruled out" in the_line(last, open_still)


@pytest.mark.parametrize("rows", [*FAILED, block(5, red=True)], ids=range(4))
def test_a_block_that_is_left_out_is_told_in_one_line_too(rows: Rows) -> None:
    line = the_line(rows, decided([rows]))

    assert line.isprintable()
    assert f"block  {rows[0].round}  left out: " in line
