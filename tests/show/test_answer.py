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


def test_every_figure_of_the_screen_is_in_the_json() -> None:
    answer = answered(both("quick", "limits", "counts"))
    values = json.loads(json.dumps(answer.as_json(), allow_nan=False))
    known = {units.number(number, digits) for number in numbers(values) for digits in (1, 2, 3, 5)}
    known |= {units.percent(number).removesuffix(" %") for number in numbers(values) if 0 <= number < 1}
    known |= {units.number(number / 1000, 2) for number in numbers(values)}

    cells = [text for line in answer.table.cells for text in line[1:]]
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
