"""The plot of windows: a dot for every window of every arm, in the order of time."""

from typing import Any

import pytest

from inflight.bench.rows.files import Row
from tests.made_rows import MS, arm_row, edited
from tests.show.drawn import HOSTILE, drawn

OUTLIER_NS = 200_000
WINDOW = {"wall_ns": MS, "server_cpu_ns": 1, "pages": 10}


def blocks(*names: str, latency: str = "0") -> list[Row]:
    """Make two blocks of arms with three windows each; the last window of the last arm is an outlier."""
    rows = []
    for number in (1, 2):
        for name in names:
            costs = [20_000, 21_000, OUTLIER_NS if (number, name) == (2, names[-1]) else 22_000]
            windows = [
                {**WINDOW, "cycle": n, "begin_ns": n * 10 * MS, "cpu_ns": 10 * cost} for n, cost in enumerate(costs)
            ]
            rows.append(edited(arm_row(name, number=number, latency=latency), measured={"windows": windows}))
    return rows


def test_every_window_of_every_arm_has_a_dot() -> None:
    figure = drawn(blocks("callbacks", "thread_pool"))["windows"]

    ys: list[list[Any]] = [[line.get_ydata() for line in axes.lines] for axes in figure.axes]
    dots = [[float(y) for line in lines for y in line] for lines in ys]
    assert dots == [[20_000, 21_000, 22_000] * 2, [20_000, 21_000, 22_000, 20_000, 21_000, OUTLIER_NS]]
    low, high = figure.axes[0].get_ylim()
    assert low < 20_000 < OUTLIER_NS < high, "all arms have one scale"


@pytest.mark.parametrize("names", [["callbacks", HOSTILE], [f"arm_{n}" for n in range(14)]])
def test_any_names_fit(names: list[str]) -> None:
    axes = drawn(blocks(*names))["windows"].axes

    assert len([one for one in axes if one.lines]) == len(names)


def test_each_workload_has_a_sheet() -> None:
    found = drawn([*blocks("a", "b"), *blocks("a", "b", latency="50ms")])

    assert {"windows", "windows-2"} <= set(found)
