"""A comparison as text, Markdown, JSON and plot: complete, honest, within its width, whatever the names."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from inflight.bench.rows.files import Row
from inflight.bench.studies.stored import show
from inflight.bench.studies.stored.plot import MOST_HALF, MOST_ROWS, draw, save_forest
from inflight.bench.studies.stored.read import Comparison
from inflight.bench.studies.stored.side import CPU
from tests.compare.made_runs import compare, noisy_run, slowed, with_ceiling
from tests.made_rows import MACHINE, bare_row, crawl_row


def compared(base: list[Row] | None = None, head: list[Row] | None = None) -> Comparison:
    return compare(base or noisy_run(1), head or noisy_run(2), MACHINE, MACHINE, ("before", "after"))


def test_every_output_says_that_the_runs_are_not_paired() -> None:
    found = compared()

    assert "not paired" in " ".join(show.text(found).split())
    assert "not paired" in show.markdown(found)
    assert show.to_json(found)["paired"] is False


def test_every_cell_is_in_every_output() -> None:
    head = [row for row in noisy_run(2) if row.strategy != "generators"]
    found = compared(head=[*head, crawl_row("thread_pool")])

    for text in (show.text(found, every=True), show.markdown(found).replace("\\", "")):
        assert all(show.name_of(one)[:30] in text for one in found.compared)
        assert "Only in BASE: generators, 0 ms, 10 in flight" in " ".join(text.split())
        assert "Only in HEAD: thread_pool, 0 ms, 100 in flight" in " ".join(text.split())
    values = show.to_json(found)
    assert len(values["cells"]) == len(found.compared)
    assert {one["side"] for one in values["one_sided"]} == {"BASE", "HEAD"}


def test_a_terminal_lists_what_changed_and_counts_the_rest() -> None:
    found = compared(head=slowed(noisy_run(2), 1.3, "generators"))

    lines = show.text(found).splitlines()

    listed = [one for one in found.compared if any(line.startswith(show.name_of(one)) for line in lines)]
    assert {one.key.subject for one in listed} == {"generators"}
    assert sum(line.startswith("generators") for line in lines) == 3
    counts = {cells[0]: cells[1:] for cells in (line.rsplit(maxsplit=3) for line in lines) if cells[-1:] == ["0"]}
    assert counts == {
        "CPU per page": ["3", "0", "0"],
        "Throughput": ["6", "0", "0"],
        "User memory per fetch in flight": ["2", "0", "0"],
    }


@pytest.mark.parametrize(("factor", "state"), [(0.7, "better"), (1.0, "tied"), (1.4, "worse")])
def test_each_figure_has_a_state(factor: float, state: str) -> None:
    found = compared(head=slowed(noisy_run(2), factor))

    states = {one.state for one in found.compared if one.key.subject == "callbacks" and one.key.metric == CPU}
    assert states == {state}
    assert (f"{state.capitalize()}: CPU per page" in show.text(found)) is (state != "tied")


def test_undecided_figures_are_counted_with_their_reasons() -> None:
    found = compared(noisy_run(1, sd=0.5), noisy_run(2, sd=0.5))

    undecided = [one for one in found.compared if one.state == "undecided"]
    assert f"Undecided: too noisy ({len(undecided)})." in show.text(found)


def test_a_change_between_unlike_machines_is_undecided() -> None:
    found = compare(noisy_run(1), slowed(noisy_run(2), 2), MACHINE, MACHINE | {"cores": 8})

    assert {one.state for one in found.compared if one.key.metric == CPU} == {"undecided"}


def test_a_control_that_moved_is_reported_in_percent() -> None:
    found = compared(with_ceiling(noisy_run(1), 100_000), with_ceiling(noisy_run(2), 80_000))

    assert "The null client was 20 % slower in HEAD: 100,000 and 80,000 responses/s" in " ".join(
        show.text(found).split()
    )


def test_other_kinds_of_trials_are_counted() -> None:
    probe = bare_row("probe", "spin", {"probe": "spin", "arguments": {}}, {})

    text = " ".join(show.text(compared(head=[*noisy_run(2), probe])).split())

    assert "Not compared in HEAD: 1 trial" in text


def test_a_figure_that_decides_nothing_is_listed_with_its_reason() -> None:
    head = [row for row in noisy_run(2) if row.strategy != "callbacks" or row.kind != "crawl"]
    broken = [crawl_row(in_flight=10, number=n, status="timeout") for n in (1, 2)]

    text = " ".join(show.text(compared(head=head + broken)).split())

    assert "Undecided, HEAD: no valid trial (timeout): CPU per page of callbacks, 0 ms, 10 in flight." in text


def test_json_has_no_nan_and_no_infinity() -> None:
    wild = [crawl_row(number=n, cpu_per_page_ns=10 ** (3 * n)) for n in (1, 2, 3)]

    text = json.dumps(show.to_json(compared(wild, slowed(wild, 1.5))), allow_nan=False)

    assert json.loads(text)["verdict"] == "inconclusive"


def test_names_cannot_break_out_of_their_place() -> None:
    name = "a|b`<script>\x1b[31m\n" + "x" * 200
    many = [crawl_row(name, number=n, cpu_per_page_ns=50_000 + 100 * n) for n in (1, 2)]
    found = compared(many, slowed(many, 1.5, name))

    assert "\x1b" not in show.text(found)
    assert max(map(len, show.text(found).splitlines())) <= show.WIDTH
    assert "<script>" not in show.markdown(found)


def test_text_fits_a_terminal() -> None:
    found = compared(head=slowed(noisy_run(2), 1.3))

    assert max(map(len, show.text(found).splitlines())) <= show.WIDTH


# The plot


def svg_text(folder: Path) -> str:
    root = ET.parse(folder / "forest.svg").getroot()  # noqa: S314
    return " ".join("".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text"))


def test_the_plot_states_the_finding_and_names_each_row(tmp_path: Path) -> None:
    found = compared(head=slowed(noisy_run(2), 1.3))

    paths = save_forest(found, tmp_path)

    text = svg_text(tmp_path)
    assert [path.name for path in paths] == ["forest.png", "forest.svg"]
    assert "Regression: CPU per page of callbacks" in text.replace("\N{NO-BREAK SPACE}", " ")
    assert all(show.name_of(one) in text for one in found.compared)
    assert all(line in text.replace("\N{NO-BREAK SPACE}", " ") for line in ("+5 %", "+10 %"))


def test_many_cells_are_bounded_and_the_rest_counted(tmp_path: Path) -> None:
    caps = range(10, 330, 10)
    found = compared(noisy_run(1, caps=caps), slowed(noisy_run(2, caps=caps), 1.5))

    figure = draw(found)

    assert figure is not None
    assert figure.get_figheight() < 12
    save_forest(found, tmp_path)
    rest = sum(one.change is not None for one in found.compared) - MOST_ROWS
    assert f"{rest} more figures are not shown" in " ".join(svg_text(tmp_path).split())


def test_the_worst_is_on_top() -> None:
    figure = draw(compared(head=slowed(noisy_run(2), 1.3, "generators")))

    assert figure is not None
    assert figure.axes[0].get_yticklabels()[0].get_text().startswith("generators")


def test_without_any_change_nothing_is_drawn(tmp_path: Path) -> None:
    broken = [crawl_row(number=n, invalid=True) for n in (1, 2)]

    assert save_forest(compared(broken, broken), tmp_path) == []


def test_a_long_name_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    name = "tests/bench/test_crawler.py::test_crawl[keep-alive-100-callbacks]"
    many = [crawl_row(name, number=n, cpu_per_page_ns=50_000 + 100 * n) for n in (1, 2)]

    save_forest(compared(many, slowed(many, 1.5, name)), tmp_path)

    assert "tests/be…" in svg_text(tmp_path)


def test_the_axis_is_bounded() -> None:
    figure = draw(compared(head=slowed(noisy_run(2), 40)))

    assert figure is not None
    assert figure.axes[0].get_xlim() == (-MOST_HALF, MOST_HALF)
    assert len(figure.axes[0].get_xticks()) > 2
