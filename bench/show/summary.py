"""A whole run in a terminal and as Markdown: sections, the trials that do not count, the findings.

``commands.report`` calls ``print_summary``, ``summary_table`` and ``as_markdown``; ``page`` and ``results`` use
``coverage``, ``validity``, ``findings`` and ``glossary``. All text of rows and machines is made harmless. GitHub
accepts at most 65,536 characters per comment, so each part of the Markdown has a limit, and says how many lines it
leaves out.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from inflight.bench import units
from inflight.bench.frame import ratios
from inflight.bench.frame.ratios import Place
from inflight.bench.plan.trial import REFERENCE
from inflight.bench.rows.files import Row
from inflight.bench.show import answer as answers
from inflight.bench.show import folder as folders
from inflight.bench.show import markdown, terminal, words
from inflight.bench.show.studies import Studies
from inflight.bench.show.table import Cell, Detail, Line, Section, Table
from inflight.bench.show.words import MEANINGS, SENTENCES, TEXTS, join, limited, plain

if TYPE_CHECKING:
    from rich.text import Text

WIDTH = 100
"""Maximum width of a run in a terminal."""
MAX_SENTENCES = 7
"""Maximum number of findings."""
MAX_REASONS = 12
"""Maximum number of reasons that have a line; the others are counted."""
MAX_NAMES = 4
"""Maximum number of strategies that are named for a reason."""
MAX_RATIOS = 40
"""Maximum number of ratios that stand beside those of earlier runs."""
OUTSIDE = " *"
"""Mark of a ratio outside of the range of earlier runs."""
MAX_MARKDOWN = 60_000
"""Maximum number of characters of a report as Markdown."""
_ROOM_FOR_SECTIONS, _ROOM_FOR_DECISIONS, _ROOM_FOR_INVALID = 32_000, 12_000, 6_000
"""Maximum number of characters of the parts of a report as Markdown."""


# Which trials do not count, and why: one table for all studies


def coverage(rows: Sequence[Row]) -> str:
    """Say how many trials are valid."""
    valid = [row for row in rows if row.valid]
    rounds = len({(row.run, row.round) for row in valid})
    counted = f"Valid trials: {units.count(len(valid))} of {units.count(len(rows))}, rounds: {rounds}."
    return counted if valid else join(" ", counted, SENTENCES["nothing"], first_reason(rows))


def first_reason(rows: Sequence[Row]) -> str:
    """Return the most frequent reason why trials do not count, with an example; empty if all count."""
    table = not_counted(rows)
    if table is None:
        return ""
    kind, _, _, detail = table.cells[0]
    return f"{kind}: {plain(detail, 120)}." if detail else f"{kind}."


def not_counted(rows: Sequence[Row]) -> Table | None:
    """Return the trials that do not count by their reason, the most frequent first; None if all count."""
    cases = defaultdict[str, list[tuple[str, str]]](list)
    for row in rows:
        reasons = [] if row.valid else row.invalid_reasons or ["no reason given"]
        for why in reasons:
            kind, _, detail = why.partition(": ")
            cases[kind].append((words.name(row.arm), detail))
    if not cases:
        return None
    lines = []
    most_first = sorted(cases.items(), key=lambda item: -len(item[1]))
    for kind, examples in most_first[:MAX_REASONS]:
        names = list(dict.fromkeys(name for name, _ in examples))
        if len(names) > MAX_NAMES:
            names[MAX_NAMES:] = [f"{len(names) - MAX_NAMES} more"]
        number = units.count(len(examples))
        lines.append((plain(kind, 60), number, ", ".join(names), plain(examples[0][1], 160)))
    notes = (f"More reasons in the rows: {len(cases) - MAX_REASONS}.",) if len(cases) > MAX_REASONS else ()
    return Table("Not counted", ("reason", "trials", "of", "such as"), lines, notes)


def validity(rows: Sequence[Row]) -> Section:
    """Return the trials that do not count, and every check with the number of its verdicts."""
    verdicts = defaultdict[str, Counter[str]](Counter)
    for row in rows:
        for check in row.checks:
            verdicts[check.name][check.verdict] += 1
    heads = ("check", "passed", "failed", "not applicable")
    lines: list[Line] = []
    worst_first = sorted(verdicts.items(), key=lambda item: (-item[1]["failed"], not item[1]["passed"]))
    for name, counts in worst_first:
        sign = "✓" if counts["passed"] else "–"  # noqa: RUF001  (a dash: neither)
        if counts["failed"]:
            sign = "✗"
        first = Cell(f"{sign} {plain(name, 80)}", MEANINGS.get(name, ""), red=counts["failed"] > 0)
        lines.append((first, *(units.count(counts[verdict]) for verdict in heads[1:])))
    uncounted = not_counted(rows)
    tables = [] if uncounted is None else [uncounted]
    if lines:
        tables.append(Table("Validity checks", heads, lines))
    return Section("", tables, () if uncounted is None else (SENTENCES["excluded"],))


def glossary() -> Section:
    """Return the words that a page of a run may use, folded."""
    sentences = tuple(f"{term}: {meaning.replace('`', '')}" for term, meaning in TEXTS["glossary"].items())
    return Section("", details=(Detail("The words of this page, explained", sentences),))


# What earlier runs on the same machine have, beside what this one has


def earlier(studies: Studies) -> Section | None:
    """Return the ratios of a run beside those of earlier ones; None without an earlier run or a ratio."""
    latest = _ratios(ratios.estimates(studies.lines))
    runs = [_ratios(run.estimates) for run in studies.history.runs]
    lines = []
    for place, ratio in latest.items():
        before = sorted(run[place] for run in runs if place in run)
        if before:
            ends = f"{before[0]:.2f} to {before[-1]:.2f}"
            median = f"{statistics.median(before):.2f}x"
            sign = "" if before[0] <= ratio <= before[-1] else OUTSIDE
            lines.append((_name(place), f"{ratio:.2f}x{sign}", median, ends, str(len(before))))
    if not lines:
        return None
    outside = sum(line[1].endswith(OUTSIDE) for line in lines)
    notes = [SENTENCES["outside"]] if outside else []
    notes += [f"The first {MAX_RATIOS} of {len(lines)} ratios."] if len(lines) > MAX_RATIOS else []
    heads = ("ratio of CPU per page to the reference", "this run", "median", "range", "runs")
    table = Table("Earlier runs of these workloads on this machine", heads, lines[:MAX_RATIOS], tuple(notes))
    counts = {
        "within": len(lines) - outside,
        "number": len(lines),
        "runs": len(runs),
    }
    return Section(
        "",
        (table,),
        findings=(SENTENCES["within"].format(**counts),) if len(runs) > 1 else (),
    )


def _ratios(estimates: ratios.Estimates) -> dict[Place, float]:
    """Return the ratios to the reference."""
    known = {}
    for (cell, pair), estimate in estimates.items():
        if REFERENCE in pair:
            sign = -1 if min(pair) == REFERENCE else 1
            known[cell, pair] = math.exp(sign * estimate.value)
    return known


def _name(place: Place) -> str:
    """Return what a ratio is of: the strategy and its workload."""
    cell, pair = place
    (strategy,) = pair - {REFERENCE}
    values = dict(zip(ratios.OF_TABLE, cell, strict=True))
    workload = words.workload("arm", {key: values[key] for key in ("latency", "cpu", "in_flight")})
    return f"{plain(strategy, 60)}, {workload}"


# The whole run


def findings(studies: Studies, decided: Sequence[Section] = ()) -> list[str]:
    """Return the first findings of the decisions, or of the studies if there are none, and how many trials count."""
    measured = studies.sections if any(row.valid for row in studies.rows) else []
    sentences = [sentence for section in decided or measured for sentence in section.sentences]
    return [*sentences[:MAX_SENTENCES], *limited(studies.rows), coverage(studies.rows)]


def sections_of(studies: Studies) -> list[Section]:
    """Return the sections that have a table or say something first."""
    return [section for section in studies.sections if section.tables or section.first]


def summary_table(studies: Studies, width: int = WIDTH) -> "Text":
    """Return a whole run: its decisions or else its answer, sections, the trials that do not count, and findings."""
    from rich.text import Text

    decided = studies.decisions
    if decided:
        first = [terminal.wrapped(sentence, width) for sentence in answers.conditions(studies)]
    else:
        first = answers.answer_of(studies).lines(min(width, answers.WIDTH))
    uncounted = not_counted(studies.rows)
    before = None if decided else earlier(studies)
    sections = [
        *decided,
        *sections_of(studies),
        before,
        Section("", (uncounted,)) if uncounted else None,
    ]
    *sentences, last = findings(studies, decided)
    sentences += [*(before.sentences if before else ()), last]
    bullets = "\n".join(terminal.wrapped(f"• {sentence}", width) for sentence in sentences)
    parts = [
        Text("\n".join(first)),
        *(terminal.text(part, width) for part in sections if part),
        Text(bullets, "bold"),
    ]
    return Text("\n\n").join(part for part in parts if part)


def figures_only(studies: Studies, width: int, names: Sequence[str]) -> "Text":
    """Return the figures of some studies, between the state of the machine and the number of valid trials."""
    from rich.text import Text

    parts = [Text(terminal.wrapped(sentence, width)) for sentence in answers.conditions(studies)]
    parts += [terminal.text(section, width) for section in studies.figures_of(names)]
    parts.append(Text(terminal.wrapped(coverage(studies.rows), width)))
    return Text("\n\n").join(parts)


def print_summary(studies: Studies, file: TextIO, names: Sequence[str] = ()) -> None:
    """Print a run as ``summary_table`` does, or only the figures of some studies.

    It has colour on a terminal only, and not if NO_COLOR is set.
    """
    from rich.console import Console

    console = Console(file=file, highlight=False, soft_wrap=True)
    width = min(WIDTH, console.width) if file.isatty() else WIDTH
    console.print(figures_only(studies, width, names) if names else summary_table(studies, width))


def as_markdown(studies: Studies) -> str:
    """Return the report of a run as Markdown, with its decisions."""
    rows = studies.rows
    machine, _ = studies.about
    decided = studies.decisions
    run = max((row.run for row in rows), default="nothing was run")
    # Between backticks nothing can be escaped, so the words of the command are made harmless first.
    harmless = machine | {"command": [plain(str(word)) for word in machine.get("command") or ()]}
    sections = sections_of(studies)
    texts = [_within(markdown.markdown(section), _ROOM_FOR_SECTIONS // len(sections)) for section in sections]
    names = [section.title or "; ".join(table.title for table in section.tables) for section in sections]
    parts = [
        f"## inflight: {markdown.escaped(folders.experiment(run, machine), 60)}",
        *_first(studies),
        *(_within(markdown.markdown(section), _ROOM_FOR_DECISIONS // len(decided)) for section in decided),
        folders.origin_in_markdown(rows, harmless) if rows else "",
        *texts[:1],
        *map(markdown.folded, names[1:], texts[1:]),
    ]
    if not all(row.valid for row in rows):
        checks = _within(markdown.markdown(validity(rows)), _ROOM_FOR_INVALID)
        parts.append(markdown.folded("Not counted", checks))
    return _within(join("\n\n", *parts), MAX_MARKDOWN) + "\n"


def _first(studies: Studies) -> list[str]:
    """Return the decisions in sentences, or else the answer, as Markdown."""
    if studies.decisions:
        return [markdown.listed([*answers.conditions(studies), *findings(studies, studies.decisions)])]
    answer = answers.answer_of(studies)
    below = list(dict.fromkeys([*answer.sentences, *findings(studies)]))
    table = markdown.markdown(Section("", (answer.table,))) if answer.columns else ""
    return [markdown.listed(answer.state), table, markdown.listed(below)]


def _within(text: str, most: int) -> str:
    """Return whole lines up to a number of characters, and say how many lines are left out."""
    if len(text) <= most:
        return text
    lines = text[: most - 100].split("\n")[:-1]
    left = text.count("\n") + 1 - len(lines)
    return "\n".join([*lines, "", f"*Lines that are left out: {units.count(left)}.*"])
