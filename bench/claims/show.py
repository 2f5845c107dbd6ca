"""Verdicts as text: a line per claim, all texts of one claim, and a section for Markdown and the page.

``command`` prints ``lines``, and ``whole`` if only one claim was asked for; ``show.studies`` puts ``section`` into the
page and the report of a run; ``tools.document`` writes docs/claims.md with it. All of them take the ``Report`` or
``Verdict`` of ``verdicts``, which ``evaluate`` made.
"""

from collections.abc import Sequence

from inflight.bench.claims.verdicts import WORDS, Report, Verdict, Word
from inflight.bench.show import terminal, words
from inflight.bench.show.folder import command
from inflight.bench.show.markdown import code, escaped
from inflight.bench.show.table import Cell, Detail, Section, Table
from inflight.bench.show.terminal import DIM, GREEN, PLAIN, RED

COLOURS: dict[Word, str] = {
    "true": GREEN,
    "partly true": "\x1b[33m",
    "not true here": RED,
    "demonstration": GREEN,
    "not tested": DIM,
}
"""Colour of each verdict in a terminal."""


def lines(report: Report, *, colour: bool = False) -> list[str]:
    """Return a line for each claim: its id, its verdict and its figures; ``colour`` is for terminals."""
    rows = []
    for verdict in report.claims:
        word = f"{verdict.word:24}"
        if colour:
            word = f"{COLOURS[verdict.verdict]}{word}{PLAIN}"
        rows.append(f"{verdict.id:22}  {word}  {words.plain(verdict.measured, 900)}")
    return [*rows, *(f"{claim_id:22}  not part of --quick" for claim_id in report.left_out)]


def whole(verdict: Verdict, width: int = 100) -> str:
    """Return all texts and parts of one claim."""
    texts = [terminal.wrapped(words.plain(text, 3000), width) for text in (verdict.claim, *facts(verdict))]
    texts.append(terminal.text(Section("", (answers(verdict),)), width).plain)
    texts += [f"{name}:\n{_printable(text)}" for name, text in verdict.exhibits.items()]
    return "\n\n".join(texts)


def facts(verdict: Verdict) -> tuple[str, ...]:
    """Return the texts beside a verdict: its reason, the origin of the claim, what was published, how it was tested."""
    names = ("why", "background", "source", "published", "tested")
    return tuple(f"{name.capitalize()}: {getattr(verdict, name)}" for name in names)


def answers(verdict: Verdict) -> Table:
    """Return the parts of a claim as a table: what was measured, what it must be, and whether it is."""
    lines = []
    for part in verdict.answers:
        cells = (part.name, part.measured or "-", part.must, part.answer)
        lines.append(tuple(words.plain(text, 300) for text in cells))
    return Table("Parts", ("part", "what was measured", "value", "verdict"), tuple(lines))


def section(report: Report) -> Section:
    """Return the section of Markdown and page: a table of the claims, with all texts of each folded away."""
    heads = ("claim", "verdict", "what was measured", "published")
    lines, details = [], []
    for each in report.claims:
        lines.append((Cell(each.claim, each.id), each.word, each.measured, each.published))
        exhibits = tuple(each.exhibits.values())
        details.append(Detail(f"{each.id}: {each.word}", facts(each), exhibits, tables=(answers(each),)))
    table = Table("", heads, tuple(lines))
    return Section(title(report.claims), (table,), notes(report), details=tuple(details))


def title(verdicts: Sequence[Verdict]) -> str:
    """Return how many claims have each verdict."""
    return ", ".join(f"{word}: {sum(each.verdict == word for each in verdicts)}" for word in WORDS)


def notes(report: Report) -> tuple[str, ...]:
    """Return how many trials there are, and what was left out."""
    left_out = (f"Not part of --quick: {', '.join(report.left_out)}.",) if report.left_out else ()
    return (f"Trials of this run: {report.measured:,}. Rows of earlier runs: {report.reused:,}.", *left_out)


def provenance(report: Report) -> str:
    """Return a sentence with the command and the machine of a report."""
    made = command(report.machine)
    by = f"by {code(made)} " if made else ""
    return f"Made {by}on {escaped(report.source)}."


def _printable(text: str) -> str:
    """Return a text of several lines with a question mark for what cannot be printed."""
    return "".join(char if char.isprintable() or char == "\n" else "?" for char in text.expandtabs())
