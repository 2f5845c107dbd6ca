"""The study of interpreters: what it compares, what it leaves out, and its plot."""

import pytest

from inflight.bench.core import cells as c
from inflight.bench.present.section import text
from inflight.bench.rows.files import Row
from inflight.bench.studies.interpreters import plot, read, show
from tests.made_rows import arm_row, edited

LABELS = ("3.11.7", "3.9.1", "3.13.0")


def rows(slower: float = 1.1, blocks: int = 4) -> list[Row]:
    """Return blocks of two strategies on three interpreters; the last needs ``slower`` times the CPU time."""
    found = []
    for number in range(1, blocks + 1):
        for strategy in ("callbacks", "generators"):
            for label in LABELS:
                noise = 1 + (0.01 if label == "3.9.1" else 0) * (-1) ** number
                row = arm_row(
                    f"{strategy} {label}",
                    number=number,
                    cpu_per_page_ns=round((20_000 + 100 * number) * noise * (slower if label == "3.13.0" else 1)),
                    role="reference" if (strategy, label) == ("callbacks", "3.11.7") else "compared",
                    asked={"strategy": strategy, "interpreter": label, "python": f"python{label}"},
                )
                found.append(edited(row, knobs={"python": label, "gil": True, "build": ""}))
    return found


def test_the_interpreter_of_the_reference_is_first_and_others_are_ordered_by_version() -> None:
    assert read.interpreters(rows()) == ("3.11.7", "3.9.1", "3.13.0")


def test_a_strategy_is_compared_with_itself_on_the_first_interpreter() -> None:
    (matrix,) = read.matrices(rows(1.25))

    found = matrix.ratio("generators", "3.13.0", c.cpu_per_page_ns)

    assert found is not None
    assert found.estimate == pytest.approx(1.25, rel=1e-3)
    assert matrix.ratio("generators", "3.11.7", c.cpu_per_page_ns) is None


def test_the_title_counts_the_significant_differences() -> None:
    (matrix,) = read.matrices(rows(1.25))

    assert "no significant difference in 2 of 2 strategies with 3.9.1" in show.title(matrix)
    assert "+25.0 % in 2 of 2 strategies with 3.13.0" in show.title(matrix)


def test_runs_with_one_interpreter_have_no_such_section() -> None:
    one = [row for row in rows() if row.workload.arm.interpreter == "3.11.7"]

    assert show.sections(one) == []
    assert show.figures(one) == []


def test_the_section_begins_with_the_placebo_and_its_interval() -> None:
    placebos = []
    for number in range(1, 5):
        row = arm_row(
            "callbacks 3.11.7 again",
            number=number,
            cpu_per_page_ns=round((20_000 + 100 * number) * (1 + 0.01 * (-1) ** number)),
            role="placebo",
            asked={"strategy": "callbacks", "interpreter": "3.11.7", "python": "python3.11"},
        )
        placebos.append(edited(row, knobs={"python": "3.11.7", "gil": True, "build": ""}))

    (section,) = show.sections([*rows(), *placebos])

    assert section.first[0].startswith(
        "callbacks 3.11.7, measured twice: CPU per page 1.00x (0.98 to 1.02), pages per second "
    )
    assert show.sections(rows())[0].first == ()


def test_the_section_has_a_line_for_each_strategy_and_each_interpreter() -> None:
    (section,) = show.sections(rows())

    tables = {table.title.split(" at ")[0]: table for table in section.tables}
    assert [line[0] for line in tables["CPU per page"].cells] == ["callbacks", "generators"]
    facts = tables["The interpreters, as their workers reported them"]
    assert [line[0] for line in facts.cells] == list(LABELS)
    assert "3.13.0" in text(section, 100).plain


def test_the_plot_has_a_mark_for_each_ratio() -> None:
    ((name, sheet),) = plot.plots(rows(), {}, "footer")

    assert name == "interpreters"
    assert sheet is not None
    assert [len(axes.containers) for axes in sheet.axes] == [4, 4]
