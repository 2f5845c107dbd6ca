"""The title of a plot states the values of its marks."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from inflight.bench.present import name_looks, page
from inflight.bench.report import plots
from inflight.bench.rows.files import Row, read
from tests.made_rows import MACHINE, crawl_row, memory_row

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
SHOWN = {path.name.rpartition("-vm-")[2]: path for path in sorted(REFERENCE.iterdir())}


def drawn(rows: Sequence[Row]) -> dict[str, Figure]:
    with page.settings():
        return dict(plots.figures(rows, MACHINE))


def title_of(figure: Figure) -> str:
    (title,) = (text.get_text() for text in figure.texts if text.get_gid() == "title")
    return " ".join(title.split())


def marks(axes: Axes, strategy: str, *, y: float) -> list[float]:
    """Return where the marks of a strategy are, at this height."""
    look = name_looks.look(strategy)
    own = [line for line in axes.lines if (line.get_color(), line.get_marker()) == (look.colour, look.marker)]
    points = [point for line in own for point in np.asarray(line.get_xydata())]
    return [float(at) for at, height in points if height == pytest.approx(y)]


@pytest.mark.ci
@pytest.mark.parametrize("run", ["c10k", "memory", "quick"])
def test_the_title_of_what_was_held_states_the_marks_of_each_setting(run: str) -> None:
    figure = drawn(read(SHOWN[run]))["in_flight"]
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes[::2]}
    sentences = title_of(figure).partition("at once")[2]
    several = len(panels) > 1

    for name, axes in panels.items():
        own = sentences.partition(name)[2].partition(";")[0] if several else sentences
        told = re.findall(r"(\w+) after ([\d.]+) (ms|s)", own)
        assert told or "within" in own
        for strategy, number, unit in told:
            (at,) = marks(axes, strategy, y=10_000 if run != "quick" else 1500)
            assert float(number) * {"ms": 1e-3, "s": 1.0}[unit] == pytest.approx(at, rel=0.06)


def test_beside_what_is_valid_nothing_is_drawn_that_allows_no_conclusion() -> None:
    """A self-test has one crawl of its own, which says how late the server is, and is invalid on a noisy machine."""
    rows = [memory_row(held=held, number=number) for held in (10, 20) for number in (1, 2)]

    assert not {"throughput", "cpu", "times"} & set(drawn([*rows, crawl_row(invalid=True)]))
    assert "throughput" in drawn([crawl_row(invalid=True)]), "what is invalid is shown where there is nothing else"
