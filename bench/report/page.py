"""A run as one HTML page that explains itself: no network, no tracking, a strict content policy, under 3 MB.

It reads well in the light and in the dark, on a phone, in print, with a screen reader and without JavaScript (but for
the race). Everything in it is made of what lies in the run's folder.
"""

import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.core.rows import Row, read
from bench.present import provenance, words
from bench.present.markup import BAD, listed, paragraph, text
from bench.present.shell import shell
from bench.report import about as report_about
from bench.report import comparison as report_comparison
from bench.report import files as report_files
from bench.report import page_plots as report_plots
from bench.report import tables as report_tables
from bench.report import validity as report_validity
from bench.report import verdicts as report_verdicts
from bench.report.answer import answer
from bench.report.download import MOST_BYTES, downloads
from bench.report.files import Extras
from bench.report.page_plots import Plot
from bench.studies.race import page as race

__all__ = ["Extras", "page", "shell", "write"]

PAGE_FILE = "report.html"
RACE = "race"
"""The section that brings its own heading."""
_LEAST_ROOM = 200_000
"""Bytes that plots leave to the rest of the page; plots beyond that are left out, and named."""
_RUN_NAME = re.compile(r"\d{8}T\d+Z-[^-]+-(?P<experiment>.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Kept:
    """The plots for which there is room, and a list of the others as markup."""

    kept: tuple[Plot, ...]
    left_out: str


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page: its id, its heading, and its markup."""

    id: str
    heading: str
    inside: str


def page(rows: Sequence[Row], machine: dict[str, Any], extras: Extras) -> str:
    """Return the page of a run, as HTML.

    ``machine`` is what ``machine.json`` has, or empty; ``extras``: what else lies in the folder. The same arguments
    give the same page.
    """
    others = [row for row in rows if not row.of_comparison]
    plots = _fitting([*report_comparison.plots(rows, machine, extras), *report_plots.of_rows(others, machine)])
    shown = report_plots.shown(plots.kept)
    raced = race.fragment(others)
    css, js, data = ("", "", "") if raced is None else (raced.css, raced.js, raced.data)

    def whole(rows_inside: str) -> str:
        """Put everything together with these links to the rows."""
        sections = [
            Section("answer", "The answer", _answer(rows, extras)),
            Section("figures", "The figures", report_tables.figures(others) if others else ""),
            Section(RACE, "The race", "" if raced is None else raced.html),
            Section("plots", "The plots", "".join(shown.figures) + plots.left_out),
            Section("validity", "Can it be believed?", report_validity.panel(rows)),
            Section("verdicts", "Verdicts", report_verdicts.verdicts(rows, extras)),
            Section("machine", "The machine", report_about.machine(rows, machine)),
            Section("reproduce", "Do it again", report_about.reproduce(machine, extras)),
            Section("rows", "The rows", rows_inside),
        ]
        title = _title(rows, machine, extras)
        blocks = {"race-data": data} if data else {}
        return shell(title, _body(title, rows, machine, sections), css + shown.css, js, blocks)

    taken = len(whole("").encode("utf-8", "replace"))
    return whole(downloads(rows, extras, taken))


def write(folder: Path, path: Path | None = None) -> Path:
    """Write the page of a run, as ``report.html`` in its folder or where asked for, and return where it is.

    What was there before is replaced only when the new page is whole. Raises RowsError for a folder that is not a run,
    and OSError when the page cannot be written.
    """
    rows = read(folder)
    machine, extras = report_files.read(folder)
    target = (folder / PAGE_FILE if path is None else path).resolve()
    content = page(rows, machine, extras)
    if target.exists() and not target.is_file():  # a device or a pipe is written to, never replaced
        target.write_text(content, encoding="utf-8", errors="replace", newline="\n")
        return target
    handle, name = tempfile.mkstemp(prefix=".report-", suffix=".html", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return folder / PAGE_FILE if path is None else path


def _body(title: str, rows: Sequence[Row], machine: dict[str, Any], sections: Sequence[Section]) -> str:
    """Return what stands in <body>; a section without content is left out, and has no entry in the contents."""
    kept = [section for section in sections if section.inside]
    links = "".join(f'<li><a href="#{one.id}">{text(one.heading)}</a></li>' for one in kept)
    parts = [
        '<a class="skip" href="#main">Skip to the answer</a>',
        f"<header><h1>{text(title, 200)}</h1>",
        f'<p class="source">{text(provenance.source(rows, machine))}</p>',
        *([paragraph(words.neighbour(str(kind)))] if (kind := machine.get("neighbour")) else []),
        "</header>",
        f'<nav aria-label="Contents"><ul>{links}</ul></nav>',
        '<main id="main">',
        *(one.inside if one.id == RACE else _section(one) for one in kept),
        "</main>",
    ]
    return "\n".join(parts)


def _section(one: Section) -> str:
    heading = f"{one.id}-title"
    return (
        f'<section id="{one.id}" aria-labelledby="{heading}"><h2 id="{heading}">{text(one.heading)}</h2>\n'
        f"{one.inside}</section>"
    )


def _title(rows: Sequence[Row], machine: dict[str, Any], extras: Extras) -> str:
    """Return which experiment, on which machine, on which day."""
    where = str(machine.get("cpu") or machine.get("host") or "an unknown machine")
    day = provenance.date(rows)
    return words.plain(f"inflight: {_experiment(extras.name)} on {where}{f', {day}' if day else ''}", 160)


def _experiment(name: str) -> str:
    """Return the experiment's name: what follows time and host in the name of a run's folder."""
    found = _RUN_NAME.fullmatch(name)
    return found["experiment"] if found else name


def _answer(rows: Sequence[Row], extras: Extras) -> str:
    told = (
        listed(answer(rows), "answer") if rows else paragraph("This run has no rows: it ended before its first trial.")
    )
    return told + listed(extras.missing, BAD)


def _fitting(plots: Sequence[Plot]) -> Kept:
    """Keep as many plots as leave room for the rest of the page, and name the others."""
    kept, room = [], MOST_BYTES - _LEAST_ROOM
    left_out = []
    for plot in plots:
        size = len(plot.svg.encode("utf-8", "replace"))
        if size <= room:
            room -= size
            kept.append(plot)
        else:
            left_out.append(f"{plot.name}: {plot.finding}")
    told = "<p>Left out, for the page would be too large:</p>" + listed(left_out) if left_out else ""
    return Kept(tuple(kept), told)
