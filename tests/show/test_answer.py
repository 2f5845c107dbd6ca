"""The answer of a run: its figures are recomputed from the rows; its text in each case is stored (``cases``)."""

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from inflight.bench import units
from inflight.bench.frame.slopes import FULL
from inflight.bench.rows import files
from inflight.bench.rows.files import Row
from inflight.bench.show.answer import PAIR, WIDTH, RunAnswer, answer_of
from inflight.bench.show.studies import Studies
from tests.made_rows import recorded
from tests.show.cases import ALL, ASYNCIO, CALLBACKS, FAST, THREADS, both, of
from tests.show.drawn import drawn, texts
from tests.varied import Change, varied


def answered(rows: Sequence[Row]) -> RunAnswer:
    return answer_of(Studies(rows))


def mean_log(rows: Sequence[Row], strategy: str) -> float:
    own = varied(rows, (f"strategy != '{strategy}'", "gone"))
    return sum(math.log(row.measured.cpu_per_page_ns) for row in own) / len(own)


@pytest.mark.parametrize(("factor", "winner", "loser"), [(1.0, "threads", "asyncio"), (0.4, "asyncio", "threads")])
def test_the_cheaper_model_is_named_with_what_the_other_one_costs(factor: float, winner: str, loser: str) -> None:
    rows = of("quick", FAST, (ASYNCIO, {"cost": factor}))
    answer = answered(rows)
    fast = answer.as_json()["pairs"][0]["clauses"]["fast"]["figures"]
    low, high = (units.number(fast[end], 2) for end in ("next_low", "next_high"))

    sentence = rf"Fast sites: {winner}; ([\d.]+)x the CPU time with {loser} \(next run {low} to {high}\)"
    found = re.search(sentence, answer.pairs[0].sentence)
    assert found
    expected = math.exp(abs(mean_log(rows, PAIR[0]) - mean_log(rows, PAIR[1])))
    assert float(found[1]) == pytest.approx(expected, rel=0.05)
    assert fast["answer"] == "differs"


@pytest.mark.parametrize("runs", [("quick", "limits", "counts"), ("map",)])
def test_every_figure_of_the_screen_is_in_the_json(runs: tuple[str, ...]) -> None:
    answer = answered(both(*runs))
    values = json.loads(json.dumps(answer.as_json(), allow_nan=False))
    known = {units.number(number, digits) for number in numbers(values) for digits in (1, 2, 3, 5)}
    known |= {units.percent(number).removesuffix(" %") for number in numbers(values) if 0 <= number < 1}
    known |= {units.number(number / scale, 2) for number in numbers(values) for scale in (1000, 1_000_000)}
    known.add("2")  # "equal within 2 %"

    cells = [text for line in answer.table.cells for text in line[len(answer.first) :]]
    figures = [figure for text in (*cells, *answer.sentences) for figure in re.findall(r"\d[\d,.]*\d|\d", text)]
    assert figures
    assert [figure for figure in figures if figure not in known] == []


def numbers(value: Any) -> list[float]:
    """Return all numbers in JSON values, those in its texts left out."""
    if isinstance(value, dict | list):
        return [number for each in (value.values() if isinstance(value, dict) else value) for number in numbers(each)]
    return [value] if isinstance(value, int | float) and not isinstance(value, bool) else []


@pytest.mark.parametrize(
    "changes",
    [
        [(ASYNCIO, "gone")],
        [(CALLBACKS, "gone")],
        [(ASYNCIO, "failed")],
        [(ASYNCIO, {"python_calls_per_page": None})],
        [(ASYNCIO, {"system_calls_per_page": None})],
    ],
    ids=str,
)
def test_calls_are_not_named_if_either_was_not_counted(changes: list[Change]) -> None:
    answer = answered(of("counts", ALL, *changes))

    assert not any("calls" in sentence for sentence in answer.sentences)
    assert "counts" not in answer.figures


LIMITS = {"descriptors": 19_990, "ports": 28_232, "memory": 300_000_000, "threads": 4000}


@pytest.mark.parametrize("run", ["c10k", "memory", "c100k"])
def test_a_run_whose_trials_were_all_skipped_has_an_answer(run: str) -> None:
    rows = varied(recorded(run), (ALL, "limit"))

    answer = answered(rows)

    assert answer.columns == []
    assert answer.figures["trials"] == {"valid": 0, "planned": len(rows)}


def test_the_lowest_of_the_limits_that_a_model_needs_stops_it() -> None:
    rows = varied(
        both("quick", "limits"),
        ("strategy == 'backlog'", "gone"),
        (f"({FAST}) and {THREADS}", {"peak_threads": 101}),
        *(
            (f"strategy == '{name}'", {"found": None, "predicted": most, "stopped_by": "predicted"})
            for name, most in LIMITS.items()
        ),
    )
    studies = Studies(rows)
    each = {
        slope["line"]: LIMITS["memory"] // slope["estimate"]
        for slope in studies.as_json()["memory"]
        if slope["layer"] == FULL
    }
    rooms = {name: {each[name]: "memory", 19_990: "descriptors"} for name in (*PAIR, "callbacks", "generators")}
    rooms[PAIR[0]][4000] = "threads"

    (column,) = (column for column in answer_of(studies).columns if column.name == "at_once")
    for name, room in rooms.items():
        assert column.entries[name].text == f"{units.count(int(min(room)))} {room[min(room)]}"
    figure = drawn(rows)["at_once"]
    assert all(text in texts(figure) for text in ("10,000 (C10K)", "4,000 threads"))
    (axes,) = figure.axes
    assert max(bar.get_width() for container in axes.containers for bar in container) == axes.get_xlim()[1]


def test_a_reference_that_no_other_model_is_compared_with_has_no_ratio() -> None:
    reference = Path(__file__).parents[2] / "results" / "reference"
    answer = answered(files.read(max(reference.glob("*-costs"))))

    entries = answer.columns[0].entries
    assert {name for name, entry in entries.items() if "x" not in entry.text} == {"process_pool", "sequential"}
    assert entries["callbacks"].text.startswith("1x (")


def test_the_screen_has_at_most_25_lines_of_80_columns() -> None:
    for others in (0.1, 0.5):
        rows = varied(
            both("quick", "limits"),
            ("strategy == 'sequential'", "gone"),
            ("kind == 'arm'", {"others_share": lambda _, o=others: o}),
        )
        lines = answered(rows).lines()
        assert max(map(len, lines)) <= WIDTH
        assert len(lines) <= 25 - len(["page", "all figures"])


# A table of cells

GRID = {"run": "20261129T130548584Z-vm-grid"}


def grid(query: str = "kind == 'arm'") -> list[Row]:
    return of("map", query, (ALL, GRID))


def test_a_grid_has_a_line_for_each_cell_in_the_order_of_what_differs_in_them() -> None:
    answer = answered(grid("latency == '0' or cpu == '0'"))

    settings = [line[:2] for line in answer.table.cells]
    assert answer.table.heads[:2] == ("CPU work", "added latency")
    assert settings == [
        ("none", "0 ms"),
        ("none", "50 ms"),
        *((f"{work}", "0 ms") for work in ("100 µs", "1 ms", "10 ms")),
    ]
    assert [column.name for column in answer.columns] == list(answer.models)


def test_larger_pages_are_below_smaller_ones() -> None:
    sizes = (5_000, 100_000, 900)
    rows = [row for size in sizes for row in varied(grid("cpu == '0'"), (ALL, {"workload.site.body_bytes": size}))]

    lines = answered(rows).table.cells
    assert [line[0].rpartition(" ")[2] for line in lines[::2]] == ["900", "5000", "100000"]


@pytest.mark.parametrize(("query", "is_of_cells"), [("cpu == '0'", True), ("cpu == '0' and latency == '0'", False)])
def test_a_grid_of_two_cells_has_both_and_a_single_one_has_the_usual_columns(query: str, *, is_of_cells: bool) -> None:
    assert bool(answered(grid(query)).first[0].name) == is_of_cells
    assert not answered(of("map", query, (ALL, {"run": "20261129T130548584Z-vm-other"}))).first[0].name


def test_a_run_that_also_held_fetches_has_its_memory_in_the_table() -> None:
    rows = [*grid(), *of("quick", "kind == 'memory'", (ALL, GRID))]

    assert "memory" in [column.name for column in answered(rows).columns]


def test_a_model_without_another_one_has_no_signs() -> None:
    (column,) = answered(grid(CALLBACKS)).columns

    assert not [entry for entry in column.entries.values() if "?" in entry.text]


def test_of_many_cells_the_first_ones_are_on_the_screen_and_the_others_are_counted() -> None:
    numbers_in_flight = (1, 3, 10, 30, 100, 300)
    rows = [row for n in numbers_in_flight for row in varied(grid(), (ALL, {"workload.in_flight": n}))]
    lines = answered(rows).lines()

    assert max(map(len, lines)) <= WIDTH
    assert len(lines) <= 25 - len(["page", "all figures", "again"])
    (left,) = (line for line in lines if line.endswith("more lines: inflight report FOLDER --format terminal"))
    assert int(left.split()[0]) > 80


def test_models_that_have_no_room_are_below_the_others() -> None:
    lines = answered(grid("cpu == '0'")).lines()

    heads = [line.split() for line in lines if "callbacks" in line or "native_asyncio" in line]
    assert len(heads) == 2
    assert [head[:1] for head in heads] == [["added"], ["added"]]
