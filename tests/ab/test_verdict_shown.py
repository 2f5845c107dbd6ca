"""A verdict as text, Markdown and JSON: its content, and safe output of hostile values."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from inflight.bench.studies.compare import read, show
from inflight.bench.studies.compare.decide import Decision
from inflight.bench.studies.compare.read import Result
from inflight.bench.studies.compare.rule import DESIGNED, Rule, with_looks
from inflight.bench.studies.compare.simulation import play
from tests.made_blocks import TIMED, Rows, block, blocks, flat

RULE = Rule(looks=(4,), shares=(1.0,))
HOSTILE = "a|b`c<d>\n# e\x1b[31m*f*"
WAITING: dict[str, Any] = {"latency": "50ms", "throughput": 0.0, "share": 0.12, "gated": ("cpu_per_page",)}
RATES = {
    "made_at": "2026-01-02T03:04:05+00:00",
    "false_alarms": {"real": {"alarms": 1, "decisions": 8, "blocks": 104, "upper": 0.47}},
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


def result(found: Sequence[Rows]) -> Result:
    return Result(decided(found), tuple(blocks(found)), RULE)


def decided(found: Sequence[Rows]) -> Decision:
    return read.decided(blocks(found), RULE)


def plain(found: Sequence[Rows], rates: dict[str, Any] | None = None) -> str:
    return show.text(result(found), rates).plain


def cells(found: Sequence[Rows]) -> dict[str, dict[str, str]]:
    """Return the table: by metric and by head."""
    (table,) = show.section(result(found)).tables
    return {line[0]: dict(zip(table.heads, line, strict=True)) for line in table.cells}


def told(found: Sequence[Rows], rates: dict[str, Any] | None = None) -> dict[str, Any]:
    return show.to_json(result(found), rates)


FAILED = [block(n, failed="B", reason=f"it broke: {HOSTILE}") for n in (1, 2, 3)]
NO_MEMORY: dict[str, Any] = {"memory_invalid": f"3 connections {HOSTILE}", "metrics": (*TIMED, "memory")}
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
    "no_good_block": [block(n, invalid=True) for n in range(1, 9)],
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
def test_every_verdict_is_valid_json(name: str) -> None:
    found = told(ALL[name])

    again = json.loads(json.dumps(found, allow_nan=False))
    assert again == found
    assert again["verdict"] == VERDICTS[name]
    assert again["why"]
    for effect in again["effects"].values():
        assert 0 <= effect["low"] <= effect["ratio"] <= effect["high"]


@pytest.mark.parametrize("name", ALL)
def test_nothing_in_a_verdict_moves_a_cursor_or_breaks_a_line_or_a_table(name: str) -> None:
    written = show.markdown(result(ALL[name])).splitlines()
    table = [line for line in written if line.startswith("|")]

    assert all(line.isprintable() for line in (*plain(ALL[name]).splitlines(), *written))
    assert len({line.replace("\\|", "").count("|") for line in table}) <= 1
    assert (len(table) > 2) == bool(result(ALL[name]).tally.good)


def test_a_control_whose_interval_excludes_0_is_explained_where_the_verdict_stands() -> None:
    controls: list[dict[str, Any]] = [
        {"placebo": 0.005 + 0.001 * (n % 3 - 1), "placebo_throughput": 0.002 * (n % 2 - 0.5)} for n in range(1, 5)
    ]
    beside = [block(n, 0.2 + 0.002 * (n % 3), metrics=TIMED, **one) for n, one in enumerate(controls, start=1)]

    assert decided(beside).verdict == "regression"
    told = " ".join(plain(beside).split())
    assert "the interval of placebo CPU per page" in told
    assert "excludes 0, as 1 in 20 does with identical code" in told
    assert "excludes 0" not in plain(ALL["regression"])


def test_the_title_is_the_verdict_and_its_reason_and_both_sides_are_named() -> None:
    found = show.section(result(ALL["regression"]))

    assert found.title == f"REGRESSION: {decided(ALL['regression']).why}"
    assert found.first == (
        "A: callbacks",
        "B: generators",
        "no added latency, 100 in flight, keep-alive, 6 cycles of slices per block",
    )
    assert r"- A: a\|b\`c&lt;d&gt; \# e?\[31m\*f\*" in show.markdown(result(ALL["hostile"]))


def test_a_metric_has_both_figures_its_change_its_interval_and_the_detectable_change() -> None:
    cpu, throughput = cells(ALL["regression"]).values()

    assert (cpu["A"], cpu["B"], cpu["change"]) == ("33.3 µs", "40.7 µs", "+22.1 %")
    assert cpu["95 % interval"] == "+21.6 to +22.6 %"
    assert float(cpu["detectable"].removesuffix(" %")) >= 2
    assert throughput["change"].startswith("-18.")


def test_throughput_has_its_own_direction_in_json() -> None:
    effects = told(ALL["regression"])["effects"]

    assert effects["cpu_per_page"]["ratio"] == pytest.approx(math.exp(0.2), rel=0.01)
    assert effects["throughput"]["ratio"] == pytest.approx(math.exp(-0.2), rel=0.01)
    assert effects["throughput"]["low"] < effects["throughput"]["ratio"] < effects["throughput"]["high"]


def test_throughput_that_is_not_gated_is_shown_with_the_reason() -> None:
    found = told(ALL["not_gated"])

    assert found["verdict"] == "regression"
    assert set(found["effects"]) == {"cpu_per_page"}
    assert "12 % at most" in found["not_gated"]["throughput"]
    assert cells(ALL["not_gated"])["throughput"]["note"] == found["not_gated"]["throughput"]


def test_no_change_has_no_sign_of_a_change() -> None:
    assert "-0.0" not in plain(ALL["pass"])


def test_missing_memory_is_shown_with_the_reason_and_prevents_a_pass() -> None:
    found = told(ALL["memory_failed"])

    assert found["verdict"] == "inconclusive"
    assert "user memory per fetch has only 0 of the 4 values" in found["why"]
    assert found["not_gated"]["memory"].startswith("no listen drops: 3 connections")
    assert cells(ALL["memory_failed"])["user memory per fetch"]["note"] == found["not_gated"]["memory"]
    assert told(ALL["memory_alone_failed"])["verdict"] == "inconclusive"


def test_memory_is_shown_per_fetch() -> None:
    found, line = told(ALL["with_memory"])["effects"]["memory"], cells(ALL["with_memory"])["user memory per fetch"]

    assert found["median"] == {"A": pytest.approx(2_000_000 / 1960), "B": pytest.approx(2_100_000 / 1960)}
    assert found["ratio"] == pytest.approx(1.05)
    assert (line["A"], line["B"], line["change"]) == ("1.02 kB", "1.07 kB", "+5.0 %")


def test_blocks_without_values_are_counted_by_side_with_their_reasons() -> None:
    dropped, failed = told(ALL["no_good_block"]), told(ALL["all_failed"])

    assert (dropped["dropped"], dropped["reasons"]) == (8, {"server had room": 8})
    assert "8 of 8 blocks left out: server had room (8)" in plain(ALL["no_good_block"])
    assert (failed["verdict"], failed["failed"], failed["dropped"]) == ("regression", {"A": 0, "B": 3}, 0)
    assert "3 of 3 blocks left out: B: it broke: a|b" in plain(ALL["all_failed"])


def test_the_controls_are_shown_with_their_intervals() -> None:
    controls = told(ALL["regression"])["controls"]

    assert set(controls) == {"placebo CPU per page", "placebo throughput"}
    assert "placebo CPU per page +0.0 % (-0.4 to +0.4 %)" in plain(ALL["regression"])


def test_the_verdict_has_its_colour() -> None:
    (span,) = [one for one in show.text(result(ALL["regression"])).spans if "red" in str(one.style)]

    assert show.text(result(ALL["regression"])).plain[span.start : span.end] == "REGRESSION"


def test_error_rates_are_called_designed_until_they_have_been_measured() -> None:
    passed = result(ALL["pass"])
    measured = show.rates_told(RATES, DESIGNED, passed.decision.effects)

    assert "designed: a false alarm in at most 0.5 %" in show.rates_told(None, DESIGNED)
    for figure in (
        "callbacks, CPython 3.11.7, 2026-01-02",
        "1 alarms in 8 decisions on 104 blocks",
        "4.8 % (95 %: 4.1 to 5.5 %) found in 98 %",
        "8.1 % (95 %: 7.0 to 9.2 %) found in 100 %",
        "SD of CPU time: 2.0 % in its blocks, 0.3 % in these",
    ):
        assert figure in measured
    with_all_looks = replace(passed, rule=DESIGNED)
    assert show.to_json(with_all_looks)["error_rates"] == "designed"
    assert show.to_json(with_all_looks, RATES)["error_rates"] == {"measured": RATES["made_at"]}


@pytest.mark.parametrize("looks", [(4,), (12,), (12, 24), (12, 16, 20), (12, 24, 48), (24, 48, 96)], ids=str)
@pytest.mark.parametrize("metrics", [1, 3])
def test_the_designed_detection_holds_for_the_looks_of_the_rule(looks: tuple[int, ...], metrics: int) -> None:
    rule = with_looks(looks)
    text = show.rates_told(None, rule, (), metrics)

    ((size, least, share),) = re.findall(r"a change of ([0-9.]+) % is found in (about|at least) (\d+) %", text)
    noise = np.random.default_rng(1).normal(0.0, 0.05, (1000, looks[-1], metrics))
    noise[..., 0] += math.log1p(float(size) / 100)
    found = play(noise, rule).share_found
    assert found >= 0.95 if least == "at least" else found == pytest.approx(int(share) / 100, abs=0.04)
    assert (share == "95") == (looks[-1] >= 48)
    assert "designed: a false alarm in at most 0.5 %" in text


def test_measured_rates_are_not_told_for_a_rule_with_other_looks() -> None:
    assert show.rates_told(RATES, RULE) == show.rates_told(None, RULE)
    assert told(ALL["pass"], RATES)["error_rates"] == "designed"


def test_each_block_is_one_line_and_a_look_has_its_decision() -> None:
    first, last = blocks([series(0.2)[0], series(0.2)[-1]])
    open_still = read.decided(blocks(series(0.045, noise=0.02)), Rule(looks=(4, 8), shares=(0.5, 0.5)))

    assert show.block_line(first, decided(series(0.2)[:1])).startswith("block  1  CPU per page +")
    assert "throughput -" in show.block_line(first, decided(series(0.2)[:1]))
    assert show.block_line(last, decided(series(0.2))).count("\n") == 0  # the verdict follows by itself
    assert show.block_line(last, open_still).count("\n") == 1


@pytest.mark.parametrize("rows", [*FAILED, block(5, invalid=True)], ids=range(4))
def test_a_block_that_is_left_out_is_one_line_too(rows: Rows) -> None:
    line = show.block_line(blocks([rows])[0], decided([rows]))

    assert line.isprintable()
    assert f"block  {rows[0].round}  left out: " in line


def test_a_stored_verdict_is_kept_and_without_one_the_blocks_so_far_decide() -> None:
    rows = flat(ALL["regression"] * 3)
    (kept,) = show.sections(rows, {"verdict": "inconclusive", "why": "the disk was full", "looks": [4]})
    (so_far,) = show.sections(rows, {})

    assert kept.title == "INCONCLUSIVE: the disk was full"
    assert so_far.first[0].startswith("No verdict is stored here")
    assert show.sections([]) == []


def test_blocks_of_several_comparisons_are_counted() -> None:
    (found,) = show.sections(flat([*series(number=3), block(9, name="other", invalid=True)]))

    assert found.tables[0].cells == [("ab", "3", "3"), ("other", "1", "0")]
