"""The plots of memory, limits and what is in flight: they say what the rows say, and nothing in them overlaps."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest

from inflight.bench.core import cells as c
from inflight.bench.present import name_looks, page
from inflight.bench.report import plots
from inflight.bench.rows.files import Row
from inflight.bench.studies.limits import plot as plot_ramp
from inflight.bench.studies.memory import plot as plot_memory
from inflight.bench.studies.memory import plot_in_flight, show
from inflight.bench.studies.memory.read import subjects
from tests.made_rows import MACHINE, crawl_row, memory_row
from tests.present.made_memory_rows import (
    PARKED,
    c10k_run,
    ceiling,
    held_row,
    idle_row,
    ladder,
    limit_row,
    memory_run,
    probe_row,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HOSTILE = ["$x^{2}$<b>&", "_hidden", "a\x00b\x1b[31m\n", "\N{PILE OF POO}" * 3, "x" * 200, "\\frac{1}{0}"]
SIZES = (2000, 4000, 6000, 8000, 10_000)
TOUCH = 2
"""Pixels by which the boxes of two texts may touch: they are as high as the tallest letter there is."""
Draw = Callable[[Sequence[Row]], "Figure | None"]


def layers(rows: Sequence[Row]) -> "Figure | None":
    return plot_memory.draw_layers(subjects(rows), "Connections: keep-alive.", "footer")


def steps(rows: Sequence[Row]) -> "Figure | None":
    names = sorted({row.strategy for row in rows if row.stack != "none"})
    return plot_memory.draw_ladder(
        subjects(rows), page.looks(names[: page.MOST_LINES]), "Connections: keep-alive.", "footer"
    )


def in_flight(rows: Sequence[Row]) -> "Figure | None":
    names = sorted({row.strategy for row in rows})
    return plot_in_flight.draw(c.cells(rows, "memory"), page.looks(names[: page.MOST_LINES]), "footer")


def ramp(rows: Sequence[Row]) -> "Figure | None":
    return plot_ramp.draw(rows, "footer")


def drawn(draw: Draw, rows: Sequence[Row]) -> str:
    """Draw a page on which nothing overlaps, and return all of its text."""
    with page.settings():
        figure = draw(rows)
        assert figure is not None
        assert overlapping(figure) == []
        assert beyond(figure) == []
    return text_of(figure)


def text_of(figure: "Figure") -> str:
    return " ".join(" ".join(text.split()) for text in map(_text, _shown(figure))).replace("\xa0", " ")


def overlapping(figure: "Figure") -> list[tuple[str, str]]:
    """Return the texts that overlap each other."""
    figure.canvas.draw()
    boxes = [(_text(text), text.get_window_extent()) for text in _shown(figure)]
    return [
        (one, other)
        for (one, a), (other, b) in combinations(boxes, 2)
        if min(a.x1, b.x1) - max(a.x0, b.x0) > TOUCH and min(a.y1, b.y1) - max(a.y0, b.y0) > TOUCH
    ]


def beyond(figure: "Figure") -> list[str]:
    """Return the texts that leave the page."""
    page_box = figure.bbox
    boxes = [(_text(text), text.get_window_extent()) for text in _shown(figure)]
    return [
        text
        for text, box in boxes
        if box.x0 < page_box.x0 - 1 or box.x1 > page_box.x1 + 1 or box.y0 < page_box.y0 - 1 or box.y1 > page_box.y1 + 1
    ]


def _shown(figure: "Figure") -> list[Any]:
    from matplotlib.text import Text

    found: list[Any] = figure.findobj(lambda artist: isinstance(artist, Text) and bool(_text(artist)))
    ticks = {id(text) for axes in figure.axes for text in _unused_ticks(axes)}
    return [text for text in found if text.get_visible() and id(text) not in ticks]


def _unused_ticks(axes: Any) -> list[Any]:
    """Return the labels of ticks that are not drawn: those beyond the axes' ends, or switched off."""
    unused = []
    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            is_inside = min(low, high) <= tick.get_loc() <= max(low, high)
            unused += [label for label in (tick.label1, tick.label2) if not is_inside or not label.get_visible()]
    return unused


def _text(artist: Any) -> str:
    text: str = artist.get_text()
    return text.replace("\N{ZERO WIDTH SPACE}", "").strip()


def run(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Return the plots of a run, by their names."""
    with page.settings():
        return dict(plots.figures(rows, MACHINE))


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([*ladder({"thread": PARKED["thread"]}, SIZES), limit_row(), limit_row("ports", timeline=[])],
         ["layers", "ladder", "ramp"]),
        ([crawl_row(), *(held_row(n=n) for n in SIZES), held_row("thread_pool", status="failed")],
         ["throughput", "cpu", "layers", "ladder", "in_flight"]),
        ([memory_row(held=n) for n in SIZES], ["layers"]),
        ([crawl_row(), idle_row(), probe_row()], ["throughput", "cpu"]),
    ],
)  # fmt: skip
def test_each_kind_of_row_has_its_plots(rows: list[Row], names: list[str]) -> None:
    assert list(run(rows)) == names


def test_settings_have_pages_of_their_own_with_the_blocks_on_the_first() -> None:
    rows = [held_row(n=n, connection=use) for use in ("keep-alive", "per-fetch") for n in SIZES]
    found = run([*rows, *ladder({"thread": PARKED["thread"]}, SIZES)])

    assert list(found) == ["layers", "ladder", "layers-2", "ladder-2", "in_flight"]
    assert "Idle threads and tasks" in text_of(found["layers"])
    assert "Idle threads and tasks" not in text_of(found["layers-2"])


PUBLISHED = (
    "22 kB: a thread",
    "50 kB: a thread",
    "3 kB: a coroutine",
    "(draft of the chapter)",
    "by Davis and van Rossum",
)


def test_a_run_of_memory_states_what_its_sections_do() -> None:
    rows = memory_run(1)
    found = {name: text_of(figure) for name, figure in run(rows).items()}

    assert list(found) == ["layers", "ladder", "in_flight"]
    layered, held = show.sections(rows)
    assert layered.title in found["layers"]
    assert held.title in found["in_flight"]
    for word in ("user", "page tables", "kernel stacks", "slab and sockets", *PUBLISHED):
        assert word in found["layers"]
    assert "1,000,000 waiting threads or tasks take 1.15 GB with asyncio task" in found["ladder"]
    assert "448 MB" not in found["ladder"]
    assert "unknown" not in found["layers"].lower()


def blocks(rounds: int = 1) -> list[Row]:
    return ladder(PARKED, SIZES, rounds=rounds)


def test_without_rows_nothing_is_drawn() -> None:
    failed = [idle_row(status="failed"), held_row(status="skipped"), limit_row(status="failed")]

    for draw in (layers, steps, in_flight, ramp):
        assert draw([]) is None
        assert draw([*failed, crawl_row()]) is None


def test_an_unknown_layer_is_unknown_and_never_zero() -> None:
    text = drawn(layers, [idle_row(n=n, unknown=("slab_bytes", "kernel_stack_bytes")) for n in SIZES])

    assert "21 kB and more" in text
    assert "Some layers are unknown: thread (this kernel does not report all layers)." in text


def test_noise_below_zero_is_drawn_as_zero_and_said() -> None:
    figure = plot_memory.draw_layers(subjects([idle_row(n=n, each=(1000, 0, 0, -5)) for n in SIZES]), "", "")

    assert figure is not None
    assert "Slopes below zero (noise) are drawn as 0." in text_of(figure)
    widths = [patch.get_width() for axes in figure.axes for patch in axes.patches]  # type: ignore[attr-defined]
    assert min(widths) == 0


def test_layers_of_invalid_trials_conclude_nothing() -> None:
    assert layers([idle_row(n=n, invalid=True) for n in SIZES]) is None


def test_a_bent_line_is_a_range() -> None:
    rows = [idle_row(n=n, each=(500 + 4500 * max(0, n - 6000) // n, 0, 0, 0)) for n in (*SIZES, 12_000, 14_000)]

    assert "A range: the slope is not constant." in drawn(layers, rows)


def test_invalid_trials_are_hollow_and_conclude_nothing() -> None:
    with page.settings():
        figure = steps([idle_row(n=n, invalid=True) for n in SIZES])
    assert figure is not None
    lines: list[Any] = [line for line in figure.axes[0].lines if line.get_marker() == name_looks.look("thread").marker]
    faces = [line.get_markerfacecolor() for line in lines if len(line.get_xdata())]

    assert "No valid trial of all layers: nothing to conclude" in text_of(figure)
    assert "thread (invalid)" in text_of(figure)
    assert faces == ["white"]


def test_a_ladder_without_all_layers_says_so() -> None:
    assert "no trial has every layer" in drawn(steps, [idle_row(n=n, unknown=("slab_bytes",)) for n in SIZES])


def test_one_size_is_no_ladder() -> None:
    assert steps([idle_row()]) is None


def test_the_ramp_names_the_limit_that_bound() -> None:
    text = drawn(ramp, [limit_row(), limit_row(number=2, found=21_830)])

    assert "21,835 threads, then no more: vm.max_map_count" in text
    assert "21,835: can't start new thread" in text
    assert "kernel.pid_max 32,448, shared" in text
    assert "kernel.threads-max" not in text
    assert "A second attempt, with small stacks, ended at 21,836 threads." in text
    assert "With vm.max_map_count raised, kernel.pid_max binds next, at 32,448." in text


def test_a_ramp_that_small_stacks_let_go_further_says_more_than() -> None:
    text = drawn(ramp, [limit_row(small_stack_found=24_018)])

    assert "A second attempt, with small stacks, started more than 24,018 threads." in text


def test_a_ramp_that_stopped_below_a_shared_limit_is_marked() -> None:
    ceilings = [ceiling("kernel.pid_max", 32_448, shared=True), ceiling("vm.max_map_count", 87_000, shared=False)]
    points = [[n * 10**7, n * 292] for n in range(101)]
    text = drawn(
        ramp, [limit_row(stopped_by="shared limit", bound_by=None, found=29_200, ceilings=ceilings, timeline=points)]
    )

    assert "29,200 threads, 90 % of what is left of kernel.pid_max, which other" in text
    assert "29,200: stopped at 90 %" in text
    assert "can't start" not in text
    assert "\N{UPWARDS ARROW} vm.max_map_count 87,000" in text  # too far up for the axes


@pytest.mark.parametrize("stopped_by", ["memory budget", "deadline"])
def test_a_ramp_that_met_no_limit_names_none(stopped_by: str) -> None:
    text = drawn(ramp, [limit_row(stopped_by=stopped_by, bound_by=None, ceilings=[])])

    assert f"21,835 threads, stopped by the {stopped_by}: no limit was reached" in text


def test_two_limits_too_close_to_distinguish_are_ambiguous() -> None:
    near = [ceiling("kernel.pid_max", 21_800, shared=True), ceiling("cgroup /a/b/pids.max", 21_900, shared=True)]

    assert "then no more: ambiguous: kernel.pid_max or pids.max" in drawn(
        ramp, [limit_row(bound_by=["kernel.pid_max", "pids.max"], ceilings=near)]
    )


def test_an_invalid_ramp_concludes_nothing() -> None:
    assert "No valid ramp of threads: nothing to conclude" in drawn(ramp, [limit_row(invalid=True)])


def test_in_flight_shows_both_uses_of_connections_and_the_time_to_reach() -> None:
    text = drawn(in_flight, c10k_run())

    assert show.sections(c10k_run())[-1].title in text
    assert "per-fetch connections" in text
    assert "held by the gate while memory is read" in text


def test_in_flight_names_failed_strategies_with_the_reason() -> None:
    rows = [
        *c10k_run(1, ["callbacks"]),
        *(
            held_row("thread_pool", connection=use, status="failed", reason="RLIMIT_NPROC allows 900 threads")
            for use in ("keep-alive", "per-fetch")
        ),
    ]
    text = drawn(in_flight, rows)

    assert "1 of 2 strategies held 10,000 fetches in flight at once; keep-alive connections: callbacks" in text
    assert "thread_pool: failed: RLIMIT_NPROC allows 900 threads." in text


def test_in_flight_of_invalid_trials_concludes_nothing() -> None:
    text = drawn(in_flight, [held_row(invalid=True)])

    assert "0 of 1 strategy held 10,000 fetches in flight at once: nothing to conclude" in text
    assert "Hollow marks: invalid trials." in text


def test_the_way_down_begins_where_the_first_answer_came() -> None:
    [cell] = c.cells([held_row(reach_ms=1200)], "memory")
    [way] = plot_in_flight.ways_of(cell)

    assert way.reach_s == pytest.approx(1.2)
    assert way.up[-2:] == ((1.2, 10_000), (plot_in_flight.FOREVER_S, 10_000))
    assert way.drain_s == pytest.approx(0.4)
    assert all(0 <= count <= 10_000 for _, count in (*way.up, *way.down))
    assert [at for at, _ in way.down] == sorted(at for at, _ in way.down)


def test_parked_tasks_end_the_way_down_without_the_one_that_stays() -> None:
    row = held_row(parked=(100, 1, 0, 0))
    row.measured.timeline.in_flight.extend([1] * 500)
    row.measured.timeline.completions.extend([0] * 500)
    [way] = plot_in_flight.ways_of(c.cells([row], "memory")[0])

    assert way.drain_s < 1


@pytest.mark.ci
@pytest.mark.parametrize(
    ("draw", "rows"),
    [
        (layers, [held_row(name, n, (900, 1, 2, 8000), jitter=n % 7) for name in HOSTILE for n in SIZES]),
        (layers, [idle_row(name, n, (10**6, 1, 2, 80)) for name in HOSTILE for n in SIZES]),
        (layers, [held_row(f"s{number}", n, (100 * number, 1, 2, 80)) for number in range(31) for n in SIZES]),
        (layers, [idle_row(n=n) for n in SIZES]),
        (steps, [held_row(name, n, (900, 1, 2, 8000)) for name in HOSTILE for n in SIZES]),
        (steps, [*blocks(), *(held_row(f"s{number}", n) for number in range(12) for n in SIZES)]),
        (in_flight, [held_row(name, reach_ms=100 * number) for number, name in enumerate(HOSTILE, 1)]),
        (in_flight, [held_row(f"s{number}", reach_ms=20 * number) for number in range(1, 30)]),
        (in_flight, [held_row("fast", reach_ms=20), held_row("slow", reach_ms=30_000)]),
        (ramp, [limit_row(bound_by="x" * 300, ceilings=[ceiling(name, 21_800, shared=True) for name in HOSTILE])]),
        (ramp, [limit_row(timeline=[[0, 1]], found=1, ceilings=[ceiling("a", 1, shared=False)])]),
        (ramp, [limit_row(found=None, bound_by=None, next=None, ceilings=[])]),
    ],
)
def test_nothing_overlaps_whatever_the_names(draw: Draw, rows: list[Row]) -> None:
    assert drawn(draw, rows)
