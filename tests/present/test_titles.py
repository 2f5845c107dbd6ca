"""The title of a plot states the values of its marks."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from inflight.bench.core import units
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


def test_the_title_of_times_states_the_marks() -> None:
    rows = [
        crawl_row(name, latency="50ms", number=number, times_ns=[time] * 100)
        for name, times in (("callbacks", (10_000_000, 20_000_000)), ("thread_pool", (40_000_000, 90_000_000)))
        for number, time in enumerate(times, 1)
    ]
    figure = drawn(rows)["times"]
    title = title_of(figure)

    for name in ("callbacks", "thread_pool"):
        (at,) = marks(figure.axes[0], name, y=0.5)
        assert f"{units.duration(at, 2)} with {name}" in title


def test_the_title_of_throughput_is_of_the_longest_latency_that_is_valid() -> None:
    rows = [crawl_row(in_flight=cap, number=number, pages_per_s=cap * 10.0) for cap in (1, 100) for number in (1, 2)]
    rows += [crawl_row(latency="50ms", in_flight=cap, invalid=True) for cap in (1, 100)]

    assert "From 1 to 100 in flight, callbacks gets 100x faster" in title_of(drawn(rows)["throughput"])


def test_beside_what_is_valid_nothing_is_drawn_that_allows_no_conclusion() -> None:
    """A self-test has one crawl of its own, which says how late the server is, and is invalid on a noisy machine."""
    rows = [memory_row(held=held, number=number) for held in (10, 20) for number in (1, 2)]

    assert not {"throughput", "cpu", "times"} & set(drawn([*rows, crawl_row(invalid=True)]))
    assert "throughput" in drawn([crawl_row(invalid=True)]), "what is invalid is shown where there is nothing else"
