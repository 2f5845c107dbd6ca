"""The plots: every one is drawn from any rows, its SVG is sound, and the same rows give the same file."""

import json
import math
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.bench.present import labels, name_looks, page, scales
from inflight.bench.report.plots import save_all
from inflight.bench.rows.files import Row
from tests.made_rows import MACHINE, arm_row, crawl_row, edited, grid, memory_row, memory_rows

HOSTILE = ["$x^{2}$<b>&", "_hidden", "a\x00b\x1b[31m\n", "\N{PILE OF POO}" * 3, "x" * 200, "\\frac{1}{0}"]
ALL = ["throughput", "possible", "times", "cpu", "layers"]


def drawn(rows: list[Row], folder: Path) -> list[str]:
    """Draw, check that every PNG and SVG is there and sound, and return the names of the plots."""
    paths = save_all(rows, MACHINE, folder)
    for path in paths:
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG\r\n")
        else:
            assert ET.fromstring(path.read_text(encoding="utf-8")).tag.endswith("svg")  # noqa: S314  (we wrote it)
    names = [path.stem for path in paths[::2]]
    assert [path.name for path in paths] == [f"{name}.{kind}" for name in names for kind in ("png", "svg")]
    return names


def words(path: Path) -> str:
    """Return all text in an SVG, in its order, as one line."""
    return " ".join(" ".join(ET.parse(path).getroot().itertext()).split())  # noqa: S314  (we wrote it)


def test_every_plot_is_drawn_from_a_whole_experiment(tmp_path: Path) -> None:
    assert drawn([*grid(), *grid(["client"], stack="own")], tmp_path) == ALL


@pytest.mark.ci
def test_titles_state_the_finding_and_text_is_text(tmp_path: Path) -> None:
    drawn(grid(), tmp_path)

    throughput = words(tmp_path / "throughput.svg")
    assert "From 1 to 1,000 in flight, callbacks gets 1,000x faster at 50 ms" in throughput.replace("\xa0", " ")
    assert "Imaginary 9000, 4 cores · Linux 6.1 · CPython 3.11.7 · 2026-01-02 · inflight 0.1.0" in throughput
    assert "thread_pool" in throughput
    assert "Closed loop" in words(tmp_path / "times.svg")
    assert "client CPU time per verified page (µs)" in words(tmp_path / "cpu.svg")


@pytest.mark.ci
def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    drawn(grid(), tmp_path / "one")
    drawn(grid(), tmp_path / "two")

    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_no_rows_give_no_plots(tmp_path: Path) -> None:
    assert drawn([], tmp_path) == []


def test_trials_that_never_ended_give_no_plots(tmp_path: Path) -> None:
    assert drawn([crawl_row(status="skipped"), memory_row(status="timeout")], tmp_path) == []


def test_without_a_valid_row_the_invalid_ones_are_shown_and_nothing_is_concluded(tmp_path: Path) -> None:
    rows = [crawl_row(in_flight=cap, invalid=True, times_ns=[5, 6]) for cap in (1, 10)]
    rows += [memory_row(held=n, invalid=True) for n in (10, 20)]

    assert drawn(rows, tmp_path) == ["throughput", "cpu"]
    assert "nothing to conclude" in words(tmp_path / "throughput.svg")
    assert "Hollow: invalid trials" in words(tmp_path / "throughput.svg")
    assert "Faint: invalid trials only" in words(tmp_path / "cpu.svg")


def test_one_strategy_one_round_one_number_in_flight(tmp_path: Path) -> None:
    assert drawn([crawl_row(times_ns=[1000])], tmp_path) == ["throughput", "times", "cpu"]


@pytest.mark.ci
def test_a_hundred_strategies(tmp_path: Path) -> None:
    rows = [
        row
        for n in range(100)
        for row in (
            *(
                crawl_row(f"strategy{n}", in_flight=cap, pages_per_s=100 * cap + n, times_ns=[n + 1] * 20)
                for cap in (1, 9)
            ),
            *memory_rows(f"strategy{n}", 1000 + n, rounds=1),
        )
    ]

    assert drawn(rows, tmp_path) == [name for name in ALL if name != "possible"]
    assert "70 more are not shown." in words(tmp_path / "cpu.svg")
    assert "70 more are not shown." in words(tmp_path / "layers.svg")
    assert "72 more are not shown." in words(tmp_path / "throughput.svg")
    assert "72 more are not shown." in words(tmp_path / "times.svg")


@pytest.mark.ci
def test_a_strategy_with_one_number_in_flight_is_left_out_of_the_share_of_what_is_possible(tmp_path: Path) -> None:
    drawn([*grid(caps=(1, 100)), *grid(["one_by_one"], latencies=["50ms"], caps=(1,))], tmp_path)

    assert ["one_by_one" in words(tmp_path / f"{name}.svg") for name in ("possible", "throughput")] == [False, True]


@pytest.mark.parametrize(("names", "is_told"), [(("a", "b"), True), (("a",), False)])
def test_intervals_of_arms_that_overlap_are_explained_where_two_are_drawn(
    names: tuple[str, ...], is_told: bool, tmp_path: Path
) -> None:
    drawn([arm_row(name, number=number) for name in names for number in (1, 2)], tmp_path)

    assert ("Two intervals may overlap" in words(tmp_path / "cpu.svg")) == is_told


@pytest.mark.ci
def test_hostile_names(tmp_path: Path) -> None:
    assert drawn(grid(HOSTILE, caps=(1, 100)), tmp_path) == ALL
    for name in ALL:
        assert "$x^{2}$<b>&" in words(tmp_path / f"{name}.svg")


def test_a_hostile_machine(tmp_path: Path) -> None:
    save_all([crawl_row()], {"cpu": HOSTILE[0], "cores": None, "system": HOSTILE[2], "versions": None}, tmp_path)

    assert "$x^{2}$<b>&, ? cores · a?b?[31m" in words(tmp_path / "cpu.svg")


def test_an_unknown_machine(tmp_path: Path) -> None:
    save_all([crawl_row()], {}, tmp_path)

    assert "unknown CPU, ? cores · unknown system" in words(tmp_path / "cpu.svg")


@pytest.mark.ci
def test_unlike_settings_get_plots_of_their_own(tmp_path: Path) -> None:
    rows = [crawl_row(times_ns=[5]), crawl_row(in_flight=1), crawl_row(connection="per-fetch", times_ns=[5])]

    own = ["throughput", "times", "cpu"]
    assert drawn(rows, tmp_path) == [*own, *(f"{name}-2" for name in own)]
    assert "Keep-alive connections." in words(tmp_path / "cpu.svg")
    assert "Per-fetch connections." in words(tmp_path / "cpu-2.svg")


@pytest.mark.ci
def test_without_enough_samples_no_p99_is_named(tmp_path: Path) -> None:
    drawn([crawl_row(times_ns=range(1, 1000))], tmp_path / "few")
    drawn([crawl_row(times_ns=range(1, 1001))], tmp_path / "enough")

    assert "half of the fetches" in words(tmp_path / "few" / "times.svg")
    assert "no p99 below 1,000 samples" in words(tmp_path / "few" / "times.svg")
    assert "1 fetch in 100" in words(tmp_path / "enough" / "times.svg").replace("\xa0", " ")


@pytest.mark.ci
def test_user_and_system_time_are_divided_only_with_enough_cpu_time(tmp_path: Path) -> None:
    drawn([crawl_row(pages=15_000, cpu_per_page_ns=50_000)], tmp_path / "short")
    drawn([crawl_row(pages=25_000, cpu_per_page_ns=50_000)], tmp_path / "long")

    assert "there was too little CPU time to measure them" in words(tmp_path / "short" / "cpu.svg")
    assert "system: kernel" not in words(tmp_path / "short" / "cpu.svg")
    assert "too little CPU time" not in words(tmp_path / "long" / "cpu.svg")
    assert "system: kernel" in words(tmp_path / "long" / "cpu.svg")


def test_drawing_leaves_the_users_settings_alone(tmp_path: Path) -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    save_all([crawl_row()], MACHINE, tmp_path)

    assert dict(mpl.rcParams) == before


@given(st.lists(st.floats(0, 1), max_size=12))
def test_labels_never_overlap_and_keep_their_order(wanted: list[float]) -> None:
    places = labels.spaced(wanted, 0.05)

    ordered = sorted(places)
    assert all(high - low > 0.05 - 1e-9 for low, high in pairwise(ordered))
    assert all(0 <= place <= 1 for place in places)
    assert sorted(range(len(wanted)), key=lambda n: wanted[n]) == sorted(range(len(wanted)), key=lambda n: places[n])


@given(st.floats(1e-3, 1e9), st.floats(1.05, 1e6))
def test_an_axis_has_some_ticks_but_not_too_many(low: float, factor: float) -> None:
    ticks = scales.round_values(low, low * factor)

    assert 2 <= len(ticks) <= 16
    assert all(low * (1 - 1e-9) <= tick <= low * factor * (1 + 1e-9) for tick in ticks)
    assert all(math.isfinite(tick) for tick in ticks)


def test_looks_differ_in_more_than_colour() -> None:
    looks = page.looks(name_looks.KNOWN[: page.MOST_LINES])

    assert len({look.colour for look in looks.values()}) == page.MOST_LINES
    assert len({look.marker for look in looks.values()}) == page.MOST_LINES


@pytest.mark.parametrize("module", ["report.terminal", "report.plots", "report.summary", "present.console"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    import subprocess
    import sys

    code = f"import inflight.bench.{module}, sys, json; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout)

    assert not {
        "pandas",
        "matplotlib",
        "scipy",
        "numpy",
        "rich",
        "inflight.bench.measure",
        "inflight.strategies",
    } & set(loaded)


@pytest.mark.ci
@pytest.mark.parametrize(("share", "times"), [(1.01, 2), (0.99, 0)])
def test_a_ceiling_that_a_strategy_exceeded_is_not_drawn(tmp_path: Path, share: float, times: int) -> None:
    rows = grid(latencies=("0", "50ms"))
    most = max(row.measured.pages_per_s for row in rows)
    drawn([edited(row, server={"ceiling_per_s": most * share}) for row in rows], tmp_path)

    shown = words(tmp_path / "throughput.svg")
    assert shown.count("server's ceiling") == times
    assert ("Server's ceiling" in shown) == bool(times)


@pytest.mark.ci
def test_throughput_shows_the_model_and_its_knee_if_the_core_became_full(tmp_path: Path) -> None:
    drawn(grid(caps=(1, 10, 100, 1000, 3000, 5000)), tmp_path)

    shown = words(tmp_path / "throughput.svg").replace("\xa0", " ")
    assert "the formula min(N / (L + r), 1 / c)" in shown
    assert "knee N*, fitted (95 %)" in shown
    assert "callbacks: 2,500 (" in shown
    assert "thread_pool: 1,300 (" in shown
    assert shown.count("knee N*, fitted") == 1, "none without added latency"


@pytest.mark.ci
def test_without_a_fit_no_model_is_mentioned(tmp_path: Path) -> None:
    drawn(grid(caps=(1, 10, 100)), tmp_path)

    assert "model" not in words(tmp_path / "throughput.svg")


@pytest.mark.ci
def test_the_share_of_what_is_possible_is_drawn_where_there_is_a_latency_to_wait_for(tmp_path: Path) -> None:
    drawn(grid(latencies=("0", "50ms")), tmp_path / "both")
    drawn(grid(latencies=("0",)), tmp_path / "none")

    told = words(tmp_path / "both" / "possible.svg").replace("\xa0", " ")
    assert "100 %: in flight / added latency" in told
    assert "of the possible throughput" in told
    assert "No added latency" not in told
    assert not (tmp_path / "none" / "possible.svg").exists()


def test_a_plot_with_few_of_the_strategies_names_all_of_them_and_otherwise_those_of_its_title() -> None:
    of_run = page.looks([f"s{n}" for n in range(page.MOST_LINES)])

    assert set(page.looks_of_plot(["x", "y"], of_run)) == {"x", "y"}
    many = page.looks_of_plot([*of_run, "x", "y"], of_run, ["y"])
    assert len(many) == page.MOST_LINES
    assert "y" in many
    assert "x" not in many
