"""What studies find is shown everywhere; a noisy run concludes nothing."""

import pytest

from inflight.bench.frame import noise
from inflight.bench.present.markdown import escaped
from inflight.bench.report.answer import MAX_SENTENCES, answer
from inflight.bench.report.markdown import markdown
from inflight.bench.report.studies import Studies
from inflight.bench.report.terminal import summary_table
from inflight.bench.rows.files import Row
from tests.made_rows import MACHINE, block_rows, edited, grid
from tests.present.made_memory_rows import memory_run
from tests.selftest.made_clients import client_row
from tests.swarm.made_open_rows import SECONDS, open_row, open_run


def test_no_rows_have_no_studies() -> None:
    found = Studies([])

    assert found.sections == []
    assert list(found.pictures()) == []
    assert set(map(str, found.as_json().values())) == {"[]"}


@pytest.mark.parametrize("rows", [grid(["a", "b"], caps=(1, 100)), memory_run(1), open_run()])
def test_what_a_study_finds_is_in_every_output(rows: list[Row]) -> None:
    found = Studies(rows)
    findings = [sentence for section in found.sections for sentence in section.found]
    told = answer(found)

    assert findings
    text = " ".join(summary_table(rows).plain.split())
    assert told[:-1] == findings[: MAX_SENTENCES - 1]
    assert all(sentence in text for sentence in told)
    assert all(escaped(sentence) in markdown(rows, MACHINE) for sentence in told)


def test_what_others_took_from_a_run_is_the_median_of_its_blocks() -> None:
    rows = [
        edited(row, measured={"others_share": share, "steal_share": 0.01})
        for row, share in zip(block_rows(blocks=3), [0.1, 0.1, 0.1, 0.3, 0.3, 0.3, 0.5, 0.5, 0.5], strict=True)
    ]

    assert noise.taken_share(rows) == pytest.approx(0.31)
    assert noise.taken_share([*grid(), *block_rows()]) is None, "older rows do not know it"
    assert [noise.is_noisy(each) for each in (rows, rows[:3], block_rows(), [])] == [True, False, False, False]


def test_a_lone_client_that_waits_for_its_core_makes_a_run_noisy() -> None:
    waited = {"run_delay_ns": round(0.24e9 * SECONDS), "steal_share": 0.01}
    open_loop = edited(open_row(), measured=waited)
    client = edited(client_row("locust"), measured={"run_delay_share": 0.14, "steal_share": 0.01})

    assert [noise.taken_share([row]) for row in (open_loop, client)] == pytest.approx([0.25, 0.15])
    assert noise.taken_share([open_loop, client, client]) == pytest.approx(0.20), "a client's rows are one trial"


def test_a_noisy_run_says_so_first_and_concludes_nothing() -> None:
    quiet, noisy = (Studies(block_rows(others=share)).sections for share in (0.2, 0.21))

    first, *others = noisy
    assert first.found == (Studies(block_rows(others=0.21)).warning,)
    assert "others took 21 % of the client's core" in first.found[0]
    assert any(section.findings and section.bars for section in quiet)
    assert {(section.findings, section.bars) for section in others} == {((), None)}
    assert [section.tables for section in others] == [section.tables for section in quiet]
    assert answer(Studies(block_rows(others=0.21)))[0] == first.found[0]


def test_the_plots_of_a_noisy_run_have_no_finding_as_their_title() -> None:
    rows = [*block_rows(others=0.21), *block_rows(others=0.21, latency="50ms")]

    titles = {picture.title for picture in Studies(rows).pictures()}

    assert titles == {"Noisy run: others took 21 % of the client's core"}
