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
from tests.outputs import RECORDED, as_lines, compare

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
    "revisions": (
        series(0.2, labels=("callbacks@main", "callbacks@slower"), python=("3.11.7", "3.13.0")),
        "regression",
    ),
    "limited": (
        [
            [edited(row, measured={"reached_in_flight": 10}) if row.arm == "B" else row for row in rows]
            for rows in series()
        ],
        "pass",
    ),
    "open": (series(0.03, noise=0.03), "inconclusive"),
    "hostile": (series(0.2, labels=(HOSTILE, f"callbacks@{HOSTILE}")), "regression"),
}


@pytest.mark.parametrize("name", ALL)
def test_a_verdict_is_shown_as_stored(name: str, request: pytest.FixtureRequest) -> None:
    rows, verdict = ALL[name]
    found, values = result(rows), show.to_json(result(rows))
    parts = [show.text(found).plain, show.markdown(found), as_lines(values)]
    parts += [show.block_line(block, found.decision) for block in blocks(rows)]

    assert values["verdict"] == verdict
    assert json.loads(json.dumps(values, allow_nan=False)) == values
    assert all(line.isprintable() for part in parts for line in part.splitlines())
    compare({RECORDED / "verdicts" / f"{name}.txt": "\n".join(parts)}, request.config)


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


def test_a_verdict_without_a_good_block_has_no_plot() -> None:
    assert plot.picture(result(ALL["no_good_block"][0]), MACHINE) is None


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
