"""What rows say in Markdown: it notifies nobody, refers to nothing and links nowhere, in every text that is written."""

import html
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from inflight.bench.ab import show
from inflight.bench.claims import show as claims_show
from inflight.bench.rows.records import changed
from inflight.bench.runs import show as runs
from inflight.bench.show import folder
from inflight.bench.show.folder import Extras
from inflight.bench.show.markdown import code, escaped, escaped_in_html
from inflight.bench.show.markdown import markdown as section_markdown
from inflight.bench.show.summary import MAX_MARKDOWN, as_markdown
from inflight.bench.show.table import Section, Table
from tests.ab.test_verdict_shown import result, series
from tests.claims.made_verdicts import hostile_verdict, made_report
from tests.made_rows import MACHINE, RUN, crawl_row, grid, memory_rows
from tests.outputs import studies_knowing
from tests.runs.made_runs import compared, noisy_run
from tools.document.__main__ import macros
from tools.document.stored import Runs

LINKS = "@one x@two.example (@org/three) #4 o/r#5 http://six.example HTTPS://seven.example www.eight.example ftp://nine"
LINKING = re.compile(r"@\w|#\d|\w://\w|www\.\w", re.IGNORECASE)
"""What GitHub and GitLab make something of, in a piece of text that is not code."""
EMPTY_COMMENT = "<!-- -->"


def pieces(text: str) -> Iterator[str]:
    """Return the texts between the tags of the rendered page, without those in code."""
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "html_block":
            yield from (html.unescape(part) for part in re.split(r"<[^>]*>", token.content))
        piece = ""
        for child in token.children or ():
            if child.type == "text":
                piece += child.content
            else:
                yield piece
                piece = ""
        yield piece


def linking(text: str) -> list[str]:
    return [piece for piece in pieces(text) if LINKING.search(piece)]


def the_report() -> str:
    rows = [
        *grid([LINKS, "b"], caps=(100,)),
        *memory_rows(LINKS, 1000),
        crawl_row(LINKS, status="failed", reason=LINKS),
        crawl_row("b", number=9, invalid=True),
    ]
    told = MACHINE | {"cpu": LINKS, "command": ["inflight", "run", LINKS], "host": "none"}
    renamed = [changed(row, run=f"20260102T030405678Z-none-{LINKS}") for row in rows]
    decided = [Section(LINKS, (Table(LINKS, (LINKS, LINKS), ((LINKS, LINKS),), (LINKS,)),), (LINKS,), (LINKS,))]
    return as_markdown(studies_knowing(renamed, about=(told, Extras("")), decisions=decided))


def the_claims() -> str:
    report = made_report(hostile_verdict(LINKS), machine=MACHINE | {"command": ["inflight", LINKS]}, source=LINKS)
    return "\n\n".join([section_markdown(claims_show.section(report)), macros(Runs(Path()), Path()).verdicts([report])])


def the_verdict() -> str:
    return show.markdown(result(series(0.2, labels=(LINKS, LINKS))))


def the_comparison() -> str:
    base, head = (
        [changed(row, strategy=LINKS) if row.strategy == "generators" else row for row in noisy_run(seed)]
        for seed in (1, 2)
    )
    return runs.markdown(compared(base, head, machine=MACHINE | {"system": LINKS}))


@pytest.mark.parametrize("written", [the_report, the_claims, the_verdict, the_comparison], ids=lambda one: one.__name__)
def test_no_text_of_a_row_links_or_notifies(written: Callable[[], str]) -> None:
    text = written()

    assert EMPTY_COMMENT in text
    assert linking(text) == []


def test_escaped_text_stays_readable() -> None:
    assert "".join(pieces(escaped(LINKS))) == LINKS
    assert html.unescape(escaped_in_html(f"<b> {LINKS}", 300).replace(EMPTY_COMMENT, "")) == f"<b> {LINKS}"
    assert code(f"`{LINKS}`") == f"`{LINKS}`"


@pytest.mark.parametrize("text", ["a@b", "0.5 #", "www", "10:30", "a//b", "callbacks : generators"])
def test_text_is_shown_as_it_is(text: str) -> None:
    assert "".join(pieces(escaped(text))) == text


def test_a_sentence_is_cut_before_it_is_escaped() -> None:
    assert escaped("@" * 9, 3) == f"@{EMPTY_COMMENT}@{EMPTY_COMMENT}…"


# The report of a run


HOSTILE = "</details><script>alert(1)</script> `x` | [y](javascript:z) \x1b[31m\n# no"


def decided(*claims: tuple[str, str]) -> list[Section]:
    table = Table("Claims", ("claim", "what was measured"), claims)
    return [Section(f"Of {len(claims)} claims, all hold", (table,))]


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
    assert folder.experiment(run, {"host": host}) == name


def test_hostile_names_reasons_and_machines_stay_text() -> None:
    found = [
        *grid([HOSTILE, "b"], caps=(100,)),
        crawl_row(HOSTILE, status="failed", reason=HOSTILE),
        crawl_row("b", number=9, invalid=True),
    ]
    machine = MACHINE | {"cpu": HOSTILE, "command": ["inflight", "run", HOSTILE]}
    text = as_markdown(studies_knowing(found, about=(machine, Extras("")), decisions=decided((HOSTILE, HOSTILE))))

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
    sections = decided(*[("x" * 900, "_" * 900)] * 50)
    text = as_markdown(studies_knowing(found, about=(MACHINE, Extras("")), decisions=sections))

    assert len(text) <= MAX_MARKDOWN
    assert "Lines that are left out: " in text
    assert text.count("<details>") == text.count("</details>")
