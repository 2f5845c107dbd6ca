"""What is said of a whole run: the findings, the trials that do not count, and nothing from noise or invalid trials."""

import html
from collections.abc import Sequence
from typing import Any

import pytest

from inflight.bench.frame import noise
from inflight.bench.rows.files import Row
from inflight.bench.rows.parts import Check
from inflight.bench.rows.records import changed
from inflight.bench.show import summary, words
from inflight.bench.show.answer import answer_of, conditions
from inflight.bench.show.markdown import escaped
from inflight.bench.show.page import Extras, page
from inflight.bench.show.studies import Studies
from inflight.bench.show.summary import MAX_SENTENCES, as_markdown, not_counted, summary_table, validity
from tests.made_blocks import flat, series
from tests.made_memory_rows import memory_run
from tests.made_rows import MACHINE, bare_row, block_rows, crawl_row, edited, grid, memory_rows
from tests.swarm.made_open_rows import SECONDS, open_row, open_run


def answer(rows: Sequence[Row]) -> list[str]:
    """Return what is said of a run: the state of the machine, and the findings."""
    studies = Studies(rows)
    return [*conditions(studies), *summary.findings(studies)]


def rounds(strategy: str, rates: Sequence[float], **given: Any) -> list[Row]:
    """Make a cell of so many rounds."""
    return [crawl_row(strategy, number=n, pages_per_s=rate, **given) for n, rate in enumerate(rates, 1)]


# The answer


def test_no_rows_have_no_studies_and_one_sentence() -> None:
    found = Studies([])

    assert found.sections == []
    assert list(found.pictures()) == []
    assert set(map(str, found.as_json().values())) == {"[]"}
    assert len(answer([])) == 1


@pytest.mark.parametrize("rows", [grid(["a", "b"], caps=(1, 100)), memory_run(1), open_run()])
def test_what_a_study_finds_is_in_every_output(rows: list[Row]) -> None:
    findings = [sentence for section in Studies(rows).sections for sentence in section.sentences]
    sentences = answer(rows)

    assert findings
    assert sentences[:-1] == findings[:MAX_SENTENCES]
    text = " ".join(summary_table(Studies(rows)).plain.split())
    assert all(sentence in text for sentence in sentences)
    written = as_markdown(Studies(rows), MACHINE)
    assert all(escaped(sentence) in written for sentence in sentences)


def test_invalid_rows_never_count_and_are_counted_with_their_reason() -> None:
    found = [*rounds("a", (900, 910)), *rounds("b", (500, 510)), *rounds("hasty", (9000, 9100), invalid=True)]

    text = " ".join(answer(found))

    assert "hasty" not in text
    assert "Valid trials: 4 of 6, rounds: 2." in text


def test_without_a_valid_row_there_is_one_sentence() -> None:
    (sentence,) = answer([crawl_row(invalid=True)] * 3)

    assert f"0 of 3, rounds: 0. {words.SENTENCES['nothing']}" in sentence
    assert sentence.endswith('failed "server had room": 80 % of its core, limit 70 %.')


def test_hostile_names_and_reasons_cannot_move_a_cursor_or_fill_the_page() -> None:
    hostile = "\x1b[31m\n" + "x" * 500
    found = [*rounds(hostile, (900, 910)), *rounds("b", (500, 510))]

    for text in (*answer(found), *answer([crawl_row(hostile, status="failed", reason=hostile)])):
        assert text.isprintable()
        assert "x" * 130 not in text


def test_there_are_never_more_than_the_maximum_sentences_and_each_is_whole() -> None:
    found = [
        *grid(["a", "b"]),
        *memory_rows("a", 1000),
        bare_row("limit", "threads", {"resource": "threads", "through_shared": False}, {"found": 3}),
        *flat(series(12, 0.2)),
    ]

    sentences = answer(found)

    assert 4 <= len(sentences) <= MAX_SENTENCES + 1
    assert all(one.endswith(".") and not one.endswith("..") for one in sentences)


# Noise


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

    assert noise.taken_share([open_loop]) == pytest.approx(0.25)


def test_a_crawl_during_which_others_used_its_core_makes_a_run_noisy() -> None:
    quiet, noisy = ([edited(row, measured={"others_ns": others_ns}) for row in grid()] for others_ns in (0, 10**12))
    (share,) = {noise.taken_share([row]) for row in noisy[:1]}

    assert share == pytest.approx(10**12 / noisy[0].measured.makespan_ns)
    assert [noise.is_noisy(rows) for rows in (quiet, noisy)] == [False, True]


def test_a_noisy_run_says_so_first_and_concludes_nothing() -> None:
    quiet, noisy = (Studies(block_rows(others=share)).sections for share in (0.2, 0.21))

    first, *others = noisy
    assert "others took 21 % of the client's core" in first.sentences[0]
    assert any(section.findings for section in quiet)
    assert {section.findings for section in others} == {()}
    assert [table.title for section in others for table in section.tables] == [
        table.title for section in quiet for table in section.tables
    ]
    ratios = [cell for section in others for table in section.tables if "ratio" in table.title for cell in table.cells]
    assert ratios
    assert all(cell.endswith("?") for _, *cells in ratios for cell in cells)
    assert answer(block_rows(others=0.21))[1] == first.sentences[0]


def test_the_plots_of_a_noisy_run_have_no_finding_as_their_title() -> None:
    rows = [*block_rows(others=0.21), *block_rows(others=0.21, latency="50ms")]

    titles = {picture.title for picture in Studies(rows).pictures()}

    assert titles == {"Noisy run: others took 21 % of the client's core"}


# Quotas, and kinds of cores


def under_quota(rows: list[Row], throttled: int, cores: float = 1.0) -> list[Row]:
    """Give rows a CPU quota that throttled each block or trial so often, of 50 periods."""
    counts = {"cores": cores, "periods": 50, "throttled": throttled, "throttled_ns": throttled * 30_000_000}
    return [edited(row, measured={"quota": counts}) for row in rows]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (under_quota(block_rows(blocks=3), 40), "CPU quota of 1 core; throttled in 120 of 150 periods: "),
        (under_quota(rounds("a", (900, 910)), 3, 2.5), "CPU quota of 2.5 cores; throttled in 6 of 100 periods: "),
        ([edited(row, measured={"core_kinds": [1]}) for row in rounds("a", (900, 910))], "fast and slow cores"),
    ],
)
def test_a_quota_that_throttled_and_slow_cores_are_said_first_in_every_output(rows: list[Row], said: str) -> None:
    sentences = conditions(Studies(rows))
    sentence = sentences[-1]

    assert said in sentence
    assert answer(rows)[: len(sentences)] == sentences
    assert " ".join(sentences) in " ".join(" ".join(answer_of(Studies(rows)).lines()).split())
    assert f"- {escaped(sentence)}" in as_markdown(Studies(rows), MACHINE).split("\n")[2:4]
    assert sentence in html.unescape(page(Studies(rows), MACHINE, Extras("made"))).replace("\N{NO-BREAK SPACE}", " ")


def test_only_a_quota_that_throttled_and_slow_cores_are_said() -> None:
    quiet = [edited(row, measured={"core_kinds": [0]}) for row in under_quota(block_rows(), 0)]

    assert conditions(Studies(quiet)) == conditions(Studies(block_rows()))
    assert len(conditions(Studies(quiet))) == 1
    mixed = [edited(row, measured={"core_kinds": [0, 1]}) for row in under_quota(block_rows(), 1)]
    assert len(conditions(Studies(mixed))) == 3


# What does not count


def test_what_does_not_count_stands_in_one_table_by_reason() -> None:
    rows = [crawl_row(f"s{n}", invalid=True) for n in range(6)]
    rows += [crawl_row("a", status="skipped", reason="too few files"), crawl_row("b", status="timeout", reason="slow")]

    table = not_counted(rows)

    assert table is not None
    assert [line[:3] for line in table.cells] == [
        ('failed "server had room"', "6", "s0, s1, s2, s3, 2 more"),
        ("skipped", "1", "a"),
        ("timeout", "1", "b"),
    ]
    assert [line[3] for line in table.cells[1:]] == ["too few files", "slow"]
    assert not_counted([crawl_row()]) is None


def test_reasons_beyond_the_most_frequent_are_counted() -> None:
    many = summary.MAX_REASONS + 3
    rows = [changed(crawl_row(f"s{n}"), checks=(Check(f"check {n}", "failed", ""),)) for n in range(many)]

    table = not_counted(rows)

    assert table is not None
    assert (len(table.lines), table.notes) == (summary.MAX_REASONS, ("More reasons in the rows: 3.",))


def test_every_check_has_a_line_with_its_meaning_the_failed_ones_first() -> None:
    invalid, green = Check("server had room", "failed", "99 %"), Check("answer correct", "passed", "")
    rows = [changed(crawl_row(number=n), checks=(green, invalid) if n == 1 else (green,)) for n in (1, 2)]

    section = validity(rows)

    assert [table.title for table in section.tables] == ["Not counted", "Validity checks"]
    assert section.tables[1].cells == [("✗ server had room", "0", "1", "0"), ("✓ answer correct", "2", "0", "0")]
    assert section.notes
    assert validity(rows[1:]).notes == ()


# Clients with a limit of their own


def limited(row: Row, reached: int = 100) -> Row:
    return edited(row, measured={"reached_in_flight": reached})


LIMITED = [
    *rounds("callbacks", (3900, 3950), latency="50ms", in_flight=200),
    *map(limited, rounds("mine", (1900, 1950), latency="50ms", in_flight=200)),
    *rounds("mine", (1000, 1010), latency="50ms", in_flight=50),
]


def test_what_a_client_with_a_limit_of_its_own_reaches_is_said_once_and_stands_beside_its_name() -> None:
    sentences, studies = answer(LIMITED), Studies(LIMITED)

    assert sentences.count("mine keeps at most 100 of 200 in flight: the client's own limit?") == 1
    assert "mine (100 of 200) slowest" in " ".join(sentences)
    for text in (
        summary_table(Studies(LIMITED)).plain,
        as_markdown(Studies(LIMITED), MACHINE),
        str(studies.as_json()["throughput"]),
    ):
        assert "mine (100 of 200)" in text
    drawn = next(picture for picture in studies.pictures(only={"throughput"}) if picture.name == "throughput")
    assert "mine (100 of 200)" in str(drawn)


@pytest.mark.parametrize("length", [5, 40, 500])
def test_a_name_is_cut_but_not_what_the_client_reached(length: int) -> None:
    shown = words.name(limited(crawl_row("x" * length, in_flight=1000)).name)

    assert shown.startswith("xxxxx")
    assert shown.endswith(" (100 of 1,000)")
    assert len(shown) <= words.MAX_NAME
