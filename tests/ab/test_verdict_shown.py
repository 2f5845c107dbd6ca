"""A verdict as text, Markdown, JSON and plot: its content, and safe output of hostile values."""

import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from inflight.bench.ab import decide as deciding
from inflight.bench.ab import plot, show
from inflight.bench.ab.decide import Decision, Result
from inflight.bench.ab.rule import DESIGNED, Rule
from inflight.bench.show import pictures
from tests.made_blocks import TIMED, Rows, block, blocks, flat
from tests.made_rows import MACHINE, edited

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RULE = Rule(looks=(4,), shares=(1.0,))
HOSTILE = "a|b`c<d>\n# e\x1b[31m*f*"
WAITING: dict[str, Any] = {"latency": "50ms", "throughput": 0.0, "share": 0.12, "gated": ("cpu_per_page",)}


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
    return deciding.decided(blocks(found), RULE)


def plain(found: Sequence[Rows]) -> str:
    return show.text(result(found)).plain


def cells(found: Sequence[Rows]) -> dict[str, dict[str, str]]:
    """Return the table: by metric and by head."""
    (table,) = show.section(result(found)).tables
    return {line[0]: dict(zip(table.heads, line, strict=True)) for line in table.cells}


FAILED = [block(n, failed="B", reason=f"it broke: {HOSTILE}") for n in (1, 2, 3)]
NO_MEMORY: dict[str, Any] = {"memory_invalid": f"3 connections {HOSTILE}", "metrics": (*TIMED, "memory")}
ALL: dict[str, tuple[list[Rows], str]] = {
    "pass": (series(), "pass"),
    "regression": (series(0.2), "regression"),
    "inconclusive": (series(noise=0.2), "inconclusive"),
    "better": (series(-0.2), "pass"),
    "not_gated": (series(0.2, **WAITING), "regression"),
    "with_memory": (series(memory=math.log(1.05), metrics=(*TIMED, "memory")), "regression"),
    "memory_failed": (series(**NO_MEMORY), "inconclusive"),
    "memory_alone_failed": (series(**NO_MEMORY | {"metrics": ("memory",)}), "inconclusive"),
    "all_failed": (FAILED, "regression"),
    "two_good": ([*series(number=2, noise=2.0), *(block(n, failed="B") for n in (3, 4, 5))], "regression"),
    "no_good_block": ([block(n, invalid=True) for n in range(1, 9)], "inconclusive"),
    "one_block": (series(number=1), "inconclusive"),
    "huge": (series(18.0), "regression"),
    "hostile": (series(0.2, labels=(HOSTILE, f"callbacks@{HOSTILE}")), "regression"),
}


@pytest.mark.parametrize("name", ALL)
def test_every_verdict_is_valid_json(name: str) -> None:
    rows, verdict = ALL[name]
    found = show.to_json(result(rows))

    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["verdict"] == verdict
    assert found["why"]
    for effect in found["effects"].values():
        assert 0 <= effect["low"] <= effect["ratio"] <= effect["high"]


@pytest.mark.parametrize("name", ALL)
def test_nothing_in_a_verdict_moves_a_cursor_or_breaks_a_line_or_a_table(name: str) -> None:
    rows, _ = ALL[name]
    written = show.markdown(result(rows)).splitlines()
    table = [line for line in written if line.startswith("|")]

    assert all(line.isprintable() for line in (*plain(rows).splitlines(), *written))
    assert len({line.replace("\\|", "").count("|") for line in table}) <= 1
    assert (len(table) > 2) == bool(result(rows).tally.good)


def test_the_title_is_the_verdict_and_its_reason_and_both_sides_are_named() -> None:
    rows = series(0.2, python=("3.11.7", "3.13.0"))
    found = show.section(result(rows))

    assert found.title == "REGRESSION: B is worse: CPU per page +22.1 %, throughput -18.1 % in this run"
    assert found.first == (
        "A: callbacks, CPython 3.11.7",
        "B: generators, CPython 3.13.0",
        "no added latency, 100 in flight, keep-alive, 6 cycles of slices per block",
    )
    assert r"- A: a\|b\`c&lt;d&gt; \# e?\[31m\*f\*" in show.markdown(result(ALL["hostile"][0]))
    (span,) = [one for one in show.text(result(rows)).spans if "red" in str(one.style)]
    assert plain(rows)[span.start : span.end] == "REGRESSION"


@pytest.mark.parametrize(
    ("labels", "words"), [(("callbacks", "generators"), " in this run"), (("callbacks@main", "callbacks@slower"), "")]
)
def test_only_two_strategies_are_compared_in_this_run(labels: tuple[str, str], words: str) -> None:
    rows = series(0.2, labels=labels)
    found = show.section(result(rows))

    headline = f"REGRESSION: B is worse: CPU per page +22.1 %, throughput -18.1 %{words}"
    change = f"CPU per page: +22.1 % (95 % interval{words} +21.6 to +22.6 %)."
    assert (found.title, *(found.findings or ())[:2]) == (headline, f"{headline}.", change)
    assert found.tables[0].heads[4] == f"95 % interval{words}"
    assert ("in this run" in plain(rows)) == bool(words)


def test_a_metric_has_both_figures_its_change_its_interval_its_bound_and_the_detectable_change() -> None:
    cpu, throughput = cells(ALL["regression"][0]).values()

    assert (cpu["A"], cpu["B"], cpu["change"]) == ("33.3 µs", "40.7 µs", "+22.1 %")
    assert cpu["95 % interval in this run"] == "+21.6 to +22.6 %"
    assert float(cpu["at worst"].strip("+ %")) > 22.6
    assert float(cpu["detectable"].removesuffix(" %")) >= 2
    assert throughput["change"].startswith("-18.")
    assert "-0.0" not in plain(ALL["pass"][0])


def test_throughput_has_its_own_direction_in_json() -> None:
    effects = show.to_json(result(ALL["regression"][0]))["effects"]

    assert effects["cpu_per_page"]["ratio"] == pytest.approx(math.exp(0.2), rel=0.01)
    assert effects["throughput"]["ratio"] == pytest.approx(math.exp(-0.2), rel=0.01)
    assert effects["throughput"]["low"] < effects["throughput"]["ratio"] < effects["throughput"]["high"]


def test_a_metric_without_an_effect_is_shown_with_the_reason() -> None:
    waiting, without = show.to_json(result(ALL["not_gated"][0])), show.to_json(result(ALL["memory_failed"][0]))

    assert set(waiting["effects"]) == {"cpu_per_page"}
    assert "12 % at most" in waiting["not_gated"]["throughput"]
    assert f"throughput: {waiting['not_gated']['throughput']}" in " ".join(plain(ALL["not_gated"][0]).split())
    assert without["why"] == "too few values: user memory per fetch"
    assert without["not_gated"]["memory"].startswith("no listen drops: 3 connections")


def test_memory_is_shown_per_fetch() -> None:
    rows, _ = ALL["with_memory"]
    found, line = show.to_json(result(rows))["effects"]["memory"], cells(rows)["user memory per fetch"]

    assert found["median"] == {"A": pytest.approx(2_000_000 / 1960), "B": pytest.approx(2_100_000 / 1960)}
    assert found["ratio"] == pytest.approx(1.05)
    assert (line["A"], line["B"], line["change"]) == ("1.02 kB", "1.07 kB", "+5.0 %")


def test_blocks_without_values_are_counted_by_side_with_their_reasons() -> None:
    dropped, failed = (show.to_json(result(ALL[name][0])) for name in ("no_good_block", "all_failed"))

    assert (dropped["dropped"], dropped["reasons"]) == (8, {"no hole": 8})
    assert "8 of 8 blocks left out; no hole (8)" in plain(ALL["no_good_block"][0])
    assert (failed["failed"], failed["dropped"]) == ({"A": 0, "B": 3}, 0)
    assert "3 of 3 blocks left out; B: it broke: a|b" in plain(ALL["all_failed"][0])


def test_the_controls_are_shown_with_their_intervals() -> None:
    assert set(show.to_json(result(ALL["pass"][0]))["controls"]) == {"placebo CPU per page", "placebo throughput"}
    assert "placebo CPU per page +0.0 % (-0.4 to +0.4 %)" in plain(ALL["pass"][0])


def test_an_open_verdict_says_which_budget_is_enough() -> None:
    (advice,) = (note for note in show.section(result(series(0.03, noise=0.03))).notes if "--budget" in note)

    assert advice.startswith("blocks that vary like these find a change of 5.0 % in --budget ")
    assert "--budget" not in plain(ALL["pass"][0]) + plain(ALL["regression"][0])


def test_each_block_is_one_line_and_a_look_has_its_decision() -> None:
    first, last = blocks([series(0.2)[0], series(0.2)[-1]])
    open_still = deciding.decided(blocks(series(0.045, noise=0.02)), Rule(looks=(4, 8), shares=(0.5, 0.5)))

    assert show.block_line(first, decided(series(0.2)[:1])).startswith("block  1  CPU per page +")
    assert show.block_line(last, decided(series(0.2))).count("\n") == 0  # the verdict follows by itself
    assert show.block_line(last, open_still).count("\n") == 1
    for rows in (*FAILED, block(5, invalid=True)):
        line = show.block_line(blocks([rows])[0], decided([rows]))
        assert line.isprintable()
        assert f"block  {rows[0].round}  left out: " in line


def test_a_stored_verdict_is_kept_and_without_one_the_blocks_so_far_decide() -> None:
    rows = flat(ALL["regression"][0] * 3)
    (kept,) = show.sections(rows, {"verdict": "inconclusive", "why": "the disk was full", "looks": [4]})
    (so_far,) = show.sections(rows, {"looks": [3, 1]})
    (without,) = show.sections(rows, {})

    assert kept.title == "INCONCLUSIVE: the disk was full in this run"
    assert so_far.title.startswith("INCONCLUSIVE: too few blocks"), "edited looks are not used"
    assert without.first[0].startswith("No verdict is stored here")
    assert show.sections([]) == []


def test_blocks_of_several_comparisons_are_counted() -> None:
    (found,) = show.sections(flat([*series(number=3), block(9, name="other", invalid=True)]))

    assert found.tables[0].cells == [("ab", "3", "3"), ("other", "1", "0")]


# The plot


def words(path: Path) -> str:
    """Return all text in an SVG, in its order."""
    texts = ET.parse(path).getroot().itertext()  # noqa: S314  (we wrote it)
    return " ".join(" ".join(texts).split()).replace("\xa0", " ")


def marks(axes: "Axes", *shapes: str) -> list[float]:
    """Return from left to right where there are marks of these shapes."""
    lines = [line for line in axes.lines if line.get_marker() in shapes]
    return sorted(float(x) for line in lines for x in list(line.get_xdata()))  # type: ignore[arg-type]


@pytest.mark.ci
@pytest.mark.parametrize("name", ALL)
def test_every_verdict_with_a_good_block_is_drawn(name: str, tmp_path: Path) -> None:
    found = result(ALL[name][0])
    paths = pictures.save([plot.picture(found, MACHINE)], tmp_path)

    assert [path.name for path in paths] == (["comparison.png", "comparison.svg"] if found.tally.good else [])
    if paths:
        text = words(tmp_path / "comparison.svg")
        assert show.title(found.decision)[:60] in text
        assert "Imaginary 9000" in text
        again = pictures.save([plot.picture(found, MACHINE)], tmp_path / "again")
        assert again[1].read_bytes() == paths[1].read_bytes()


@pytest.mark.ci
def test_every_block_is_drawn_once_in_each_metric_or_marked_as_lost() -> None:
    rows = series(number=30, metrics=(*TIMED, "memory"), memory=0.001, python=("3.11.7", "3.13.1"))
    rows[3], rows[7], rows[11] = block(4, invalid=True), block(8, failed="A"), block(12, failed="B")
    rows[20] = block(21, 1.5, throughput=-1.5, metrics=(*TIMED, "memory"))
    picture = plot.picture(Result(deciding.decided(blocks(rows), DESIGNED), tuple(blocks(rows)), DESIGNED), MACHINE)

    assert picture is not None
    with pictures.settings():
        figure = pictures.draw_sheet(picture)
    cpu, throughput, memory, *controls = figure.axes
    assert len(controls) == 2
    assert marks(cpu, "o", "^", "v", "x") == marks(throughput, "s", "^", "v", "x") == list(range(1, 31))
    assert marks(cpu, "x") == [4, 8, 12]
    assert marks(memory, "x") == [4, 8, 12], "in block 21 it was not measured"
    assert (marks(cpu, "^"), marks(throughput, "v")) == ([21], [21]), "beyond the axis"
    texts = " ".join(text.get_text() for text in figure.texts).replace("\xa0", " ").replace("\n", " ")
    assert "A: callbacks, CPython 3.11.7. B: generators, CPython 3.13.1." in texts
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    assert all(box is not None and box.x0 >= 0 and box.x1 <= 13.33 * figure.dpi for box in boxes)


def test_a_side_with_a_limit_of_its_own_has_what_it_reached_beside_the_number_in_flight() -> None:
    limited = [
        [edited(row, measured={"reached_in_flight": 10}) if row.strategy == "B" else row for row in rows]
        for rows in series()
    ]
    sentence = f"B keeps at most 10 of {limited[0][0].workload.in_flight} in flight: the client's own limit?"

    assert ", 100 and 10 of 100 in flight," in plain(limited)
    assert sentence in plain(limited)
    assert show.to_json(result(limited))["limited"] == [sentence]
    assert show.to_json(result(series()))["limited"] == []
