"""A run as Markdown: what is in it, in which order, that nothing escapes from it, and that it stays short."""

import re
from pathlib import Path

import pytest

from inflight.bench.present.section import Section
from inflight.bench.present.table import Table
from inflight.bench.report import provenance
from inflight.bench.report.answer import answer
from inflight.bench.report.markdown import MOST, markdown
from inflight.bench.report.studies import Studies
from tests.made_blocks import flat, series
from tests.made_rows import MACHINE, RUN, bare_row, crawl_row, grid

REFERENCE = Path(__file__).parents[2] / "results" / "reference"
HOSTILE = "</details><script>alert(1)</script> `x` | [y](javascript:z) \x1b[31m\n# no"


def decided(*claims: tuple[str, str]) -> list[Section]:
    table = Table("Claims", ("claim", "what was measured"), claims)
    return [Section(f"Of {len(claims)} claims, all hold", (table,))]


def test_it_has_title_answer_table_and_validity_in_this_order() -> None:
    found = grid(["a", "b"], caps=(100,))
    text = markdown(found, MACHINE)

    sentences = "\n".join(f"- {sentence}" for sentence in answer(Studies(found)))
    places = [text.index(part) for part in ("## inflight: made", sentences, "Made by `inflight run quick`", "| a |")]
    assert places == sorted(places)
    assert "Valid trials: 28 of 28, rounds: 2." in text


def test_invalid_checks_are_counted_in_a_fold() -> None:
    found = [crawl_row("a"), crawl_row("a", number=2, invalid=True), crawl_row("b", status="skipped", reason="no b")]
    text = markdown(found, MACHINE)

    fold = text[text.rindex("<details>") : text.rindex("</details>")]
    assert "| ✗ server had room | 2 | 1 | 0 |" in fold
    assert "| skipped | 1 | b | no b |" in fold


def test_a_run_without_crawls_has_its_own_tables_and_the_command() -> None:
    measured = {"predicted": 9, "found": 10, "bound_by": "kernel.pid_max", "stopped_by": "failure"}
    text = markdown([bare_row("limit", "threads", {"resource": "threads", "through_shared": False}, measured)], MACHINE)

    assert "Made by `inflight run quick` on Imaginary 9000" in text
    assert "| threads | 9 | 10 | failure | kernel.pid\\_max |" in text
    assert "<details>" not in text


def test_blocks_have_their_verdict_and_its_table() -> None:
    text = markdown(flat(series(12, 0.2)), MACHINE)

    assert "REGRESSION: B is worse: CPU per page +22.6 %" in text
    assert "| CPU per page |" in text


def test_what_was_decided_comes_first_and_is_shown() -> None:
    text = markdown(grid(["a"]), MACHINE, decided(("First.", "45 kB each"), ("Second.", "-")))

    assert text.splitlines()[2] == "- Of 2 claims, all hold."
    assert text.index("| First. | 45 kB each |") < text.index("| Second. | - |") < text.index("Made by")


def test_no_row_makes_a_short_report() -> None:
    assert markdown([], {}).startswith("## inflight: nothing was run\n\n- Valid trials: 0 of 0")


@pytest.mark.parametrize(
    ("run", "host", "name"),
    [
        (RUN, "host", "made"),
        ("20260102T030405678Z-my-host-two-words", "my-host", "two-words"),
        ("20260102T030405678Z-my-host-quick", None, "quick"),
        ("odd", None, "odd"),
    ],
)
def test_the_experiment_is_the_end_of_the_runs_name(run: str, host: str | None, name: str) -> None:
    assert provenance.experiment(run, {"host": host}) == name


def test_hostile_names_reasons_and_machines_stay_text() -> None:
    found = [
        *grid([HOSTILE, "b"], caps=(100,)),
        crawl_row(HOSTILE, status="failed", reason=HOSTILE),
        crawl_row("b", number=9, invalid=True),
    ]
    machine = MACHINE | {"cpu": HOSTILE, "command": ["inflight", "run", HOSTILE]}
    text = markdown(found, machine, decided((HOSTILE, HOSTILE)))

    outside = re.sub(r"`[^`\n]*`", "", text)  # what stands between backticks is shown as it is
    assert text.replace("\n", "").isprintable()
    assert "<script" not in outside
    assert outside.count("<details>") == outside.count("</details>") > 1
    assert not re.search(r"(?m)^# ", text)
    assert not re.search(r"(?<!\\)\]\(", outside)


@pytest.mark.parametrize("name", ["strategy_{}", "*_|<&" * 30 + "{}"])
def test_a_hundred_strategies_stay_below_what_a_comment_may_have(name: str) -> None:
    found = [
        row
        for n in range(100)
        for cap in (1, 10, 100, 1000)
        for row in (
            crawl_row(name.format(n), in_flight=cap),
            crawl_row(name.format(n), in_flight=cap, latency="50ms", status="failed", reason=f"{n} <&>" * 30),
        )
    ]
    text = markdown(found, MACHINE, decided(*[("x" * 900, "_" * 900)] * 50))

    assert len(text) <= MOST
    assert "more lines are left out" in text
    assert text.count("<details>") == text.count("</details>")
