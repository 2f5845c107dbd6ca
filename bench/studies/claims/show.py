"""Verdicts as text: a line per claim, all facts of one claim, and a section for Markdown and the page."""

import textwrap
from collections import Counter

from inflight.bench.core import units
from inflight.bench.present import words
from inflight.bench.present.console import DIM, GREEN, PLAIN, RED
from inflight.bench.present.markdown import code, escaped
from inflight.bench.present.section import Section, table_markdown
from inflight.bench.present.section import markdown as section_markdown
from inflight.bench.present.table import Cell, Table
from inflight.bench.report.provenance import command
from inflight.bench.studies.claims.verdicts import WORDS, Report, Verdict, Word

COLOURS: dict[Word, str] = {
    "holds": GREEN,
    "holds differently": "\x1b[33m",
    "does not hold here": RED,
    "inconclusive": DIM,
    "not tested": DIM,
}
DEMONSTRATIONS = "Demonstrations, true by construction"
DIFFERENTLY = (
    "Holds differently: some parts of the claim hold and others do not, or the figures differ from the published ones."
)
_COUNTED = {
    "holds": ("holds", "hold"),
    "holds differently": ("holds differently", "hold differently"),
    "does not hold here": ("does not hold here", "do not hold here"),
    "inconclusive": ("is inconclusive", "are inconclusive"),
    "not tested": ("was not tested", "were not tested"),
}
_ID, _WORD = 22, 18
MOST_LISTED = 5
"""Maximum number of claims of one verdict that are listed above the table."""


def title(report: Report) -> str:
    """Return a sentence with the numbers of verdicts and demonstrations."""
    counts = Counter(one.verdict for one in report.of_kind("claim"))
    total, shown = counts.total(), len(report.of_kind("demonstration"))
    told = [f"{counts[word]} {_COUNTED[word][counts[word] > 1]}" for word in WORDS if counts[word]]
    head = f"Of {total} {'claim' if total == 1 else 'claims'}, {words.listed(told)}" if total else "No claim was tested"
    return head + (f"; {shown} more {'is a demonstration' if shown == 1 else 'are demonstrations'}" if shown else "")


def lines(report: Report, *, colour: bool = False) -> list[str]:
    """Return a line for each claim and, below a heading, one for each demonstration."""
    tested, shown = ([line(one, colour=colour) for one in some] for some in parts(report).values())
    heading = [*([""] if tested else []), f"{DEMONSTRATIONS}:"] if shown else []
    left_out = [f"{claim_id:{_ID}}  not part of --quick" for claim_id in report.left_out]
    return [*tested, *heading, *shown, *left_out]


def line(verdict: Verdict, *, colour: bool = False) -> str:
    """Return id, verdict and figures in one line."""
    word = f"{verdict.word:{_WORD}}"
    painted = f"{COLOURS[verdict.verdict]}{word}{PLAIN}" if colour else word
    close = " (close to the boundary)" if verdict.close else ""
    return f"{verdict.id:{_ID}}  {painted}  {words.plain(verdict.figures, 600)}{close}"


def whole(verdict: Verdict, width: int = 100) -> str:
    """Return source, test, region, rule and explanation of one claim."""
    parts = [_wrapped(f"{name}: {words.plain(text, 2000)}", width) for name, text in facts(verdict).items()]
    parts += ["", _wrapped(f"{verdict.claim} {verdict.explanation}", width)]
    if verdict.traces:
        left, right = verdict.traces.values()
        parts += ["", side_by_side(left, right, width)]
    return "\n".join(parts)


def facts(verdict: Verdict) -> dict[str, str]:
    """Return the facts beside a verdict, by name."""
    shown = {"Demonstration": "true by construction; the figures show how large the effect is"}
    return {
        **(shown if verdict.kind == "demonstration" else {}),
        "Source": verdict.source,
        "Published": verdict.published,
        "Tested": " ".join(verdict.about.split()),
        "Region": verdict.region,
        "Rule": verdict.reason,
    }


def side_by_side(left: str, right: str, width: int) -> str:
    """Return two texts side by side, each cut to half of the width."""
    half = (width - 3) // 2
    columns = [[_cut(text, half) for text in one.splitlines()] for one in (left, right)]
    rows = max(map(len, columns))
    filled = [column + [""] * (rows - len(column)) for column in columns]
    return "\n".join(f"{one:{half}} | {other}".rstrip() for one, other in zip(*filled, strict=True))


def section(report: Report) -> Section:
    """Return the section of Markdown and page: the claims, and the demonstrations."""
    heads = ("claim", "verdict", "what was found here", "published")
    tables = tuple(
        Table(heading, heads, tuple((Cell(one.claim, one.id), word(one), one.figures, one.published) for one in some))
        for heading, some in parts(report).items()
        if some
    )
    again = (
        f", and {units.count(report.trials.reused)} rows of earlier runs were reused" if report.trials.reused else ""
    )
    notes = [f"{units.count(report.trials.measured)} trials were measured in this run{again}."]
    if any(one.verdict == "holds differently" for one in report.of_kind("claim")):
        notes.append(DIFFERENTLY)
    if any(one.close for one in report.claims):
        notes.append("Close: near the boundary of its rule; another run may differ.")
    notes += [f"Not part of --quick: {', '.join(report.left_out)}."] if report.left_out else []
    return Section(title(report), tables, tuple(notes), findings=tuple(findings(report)))


def findings(report: Report) -> list[str]:
    """Return the numbers of verdicts, then the claims of each verdict that at most ``MOST_LISTED`` have."""
    claims = report.of_kind("claim")
    named = {word: [f'"{one.claim.rstrip(".")}"' for one in claims if one.verdict == word] for word in WORDS}
    told = [
        f"{word.capitalize()}: {words.listed(some)}." for word, some in named.items() if 0 < len(some) <= MOST_LISTED
    ]
    return [f"{title(report)}.", *told]


def markdown(report: Report) -> str:
    """Return ``claims.md`` of a run: the section, and region and reason of each verdict."""
    ordered = [one for some in parts(report).values() for one in some]
    decided = Table(
        "",
        ("claim", "verdict", "region", "reason"),
        tuple((one.id, word(one), one.region, one.reason) for one in ordered),
    )
    told = ["# Claims", provenance(report), section_markdown(section(report)), table_markdown(decided)]
    return "\n\n".join(told) + "\n"


def provenance(report: Report) -> str:
    """Return a sentence with the command and the machine of a report."""
    made = command(report.machine)
    return f"Made {f'by {code(made)} ' if made else ''}on {escaped(report.source)}."


def parts(report: Report) -> dict[str, list[Verdict]]:
    """Return the claims and the demonstrations, by heading."""
    return {"Claims": report.of_kind("claim"), DEMONSTRATIONS: report.of_kind("demonstration")}


def word(one: Verdict) -> str:
    """Return the verdict, and whether it is close to the boundary of its rule."""
    return one.word + (" (close)" if one.close else "")


def _cut(text: str, width: int) -> str:
    clean = "".join(char if char.isprintable() else "?" for char in text.expandtabs())
    return clean if len(clean) <= width else clean[: width - 1] + "…"


def _wrapped(text: str, width: int) -> str:
    return textwrap.fill(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
