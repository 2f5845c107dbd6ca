"""A run as one HTML page that explains itself: no network, no tracking, a strict content policy, under 3 MB.

Commands call ``write`` when their run has ended (``commands.run.save``), ``inflight report`` calls it for a stored run,
and ``commands.so_far`` for a run that goes on, whose rows are those so far. ``write`` calls ``page``, which draws the
plots first: the rows and their table get the room that these leave. The page has chapters: the answer, verdicts, the
race, pictures, the simulator, and folded ones with all tables and the rows. It works in light and dark mode, on a
phone, in print, with a screen reader and without JavaScript (except the race). All of it is made from the files in the
run's folder.
"""

import base64
import gzip
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from inflight.bench import units
from inflight.bench.predict import simulator
from inflight.bench.race import page as race
from inflight.bench.rows import files
from inflight.bench.rows.files import Row, read
from inflight.bench.rows.kinds import OVER_TLS
from inflight.bench.show import folder as folders
from inflight.bench.show import html, words
from inflight.bench.show.answer import OVER_TLS_COLUMN, RunAnswer, answer_of, conditions
from inflight.bench.show.folder import Extras
from inflight.bench.show.pictures import Picture, draw_svg, settings
from inflight.bench.show.results import csv
from inflight.bench.show.studies import Studies
from inflight.bench.show.summary import coverage, findings, glossary, sections_of, validity
from inflight.bench.show.table import Section

__all__ = ["Extras", "page", "write"]

PAGE_FILE = "report.html"
"""Name of the page in the folder of a run."""
MAX_BYTES = 3_000_000
"""Maximum size of a page; plots, then the table, then the rows are left out of a larger one."""
MAX_FIRST = 4
"""Maximum number of pictures above the figures."""
MIN_ROOM = 200_000
"""Bytes that plots leave to the rest of the page."""
_NOTE_BYTES = 2_000
"""Bytes for the sentences beside the links to the rows."""
TOO_LARGE = "Left out because the page would be too large"
"""Why something is left out."""
_ODD = re.compile(r"[^\w.-]+", re.ASCII)
"""Matches what a name of a download should not have."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A chapter of the page: id, heading and content; with ``is_whole``, the content includes the heading."""

    id: str
    heading: str
    inside: Markup
    is_whole: bool = False


def write(
    folder: Path,
    path: Path | None = None,
    tell: Callable[[str], None] = lambda _step: None,
    so_far: str = "",
    studies: Studies | None = None,
) -> Path:
    """Write the page of a run, by default as ``report.html`` in its folder, and return its path.

    ``tell`` is called with each step. ``so_far`` is the first sentence of the page of a run that is not complete.
    ``studies`` are those of its rows, if they are known. An existing page is replaced only after the new one is
    complete. Raises RowsError for a folder that is not a run, and OSError if the page cannot be written.
    """
    tell("reading the rows")
    studies = studies or Studies(read(folder), folder)
    target = folder / PAGE_FILE if path is None else path.resolve()
    content = page(studies, tell, so_far)
    if path and target.exists() and not target.is_file():  # a device or a pipe is written to
        target.write_text(content, encoding="utf-8", errors="replace", newline="\n")
    else:
        files.write(target, content)
    return path or target


def page(studies: Studies, tell: Callable[[str], None] = lambda _step: None, so_far: str = "") -> str:
    """Return the page of a run, as HTML, as ``write`` does. The same arguments give the same page."""
    rows = studies.rows
    machine, extras = studies.about
    scripts = {"race": race.fragment(rows), "simulator": simulator.fragment(studies.lines)}
    what = _about(extras, machine)
    answer = answer_of(studies)
    pictures = [*studies.decision_pictures(), *studies.pictures()]
    drawn = _plots(pictures, tell)
    plots = {column.name: column.name for column in answer.columns}
    for picture in pictures:
        if picture.name.startswith("memory") and picture.title.endswith(OVER_TLS):
            plots[OVER_TLS_COLUMN] = picture.name  # a part of the study of memory
    on_top = [plots[column.name] for column in answer.columns if plots[column.name] in drawn]
    on_top = on_top or list(drawn)[:MAX_FIRST]
    opened = [
        Chapter("answer", "The answer", _answer(studies, answer)),
        Chapter("verdicts", "Verdicts", _sections(studies.decisions)),
        Chapter("race", "The race", _markup(scripts["race"]), is_whole=True),
        Chapter("plots", "Pictures", html.macro("plots", [drawn[name] for name in on_top])),
        Chapter("simulator", "Simulator", _markup(scripts["simulator"]), is_whole=True),
    ]
    others = [plot for name, plot in drawn.items() if name not in on_top]
    folded = [
        Chapter("figures", "Tables", html.listed(findings(studies)) + _sections(sections_of(studies))),
        Chapter("others", "Other plots", html.macro("plots", others)),
        Chapter("validity", "Validity checks", html.section(validity(rows))),
        Chapter("glossary", "Glossary", html.section(glossary())),
        Chapter("machine", "The machine", html.section(folders.machine_section(rows, machine))),
        Chapter("reproduce", "Reproduce", html.section(folders.reproduce(machine, extras.experiment_toml))),
    ]
    title = _title(rows, machine, extras)
    source = folders.source(rows, machine)
    first = list(filter(None, [so_far, what]))
    used = {name: fragment for name, fragment in scripts.items() if fragment}
    style = "".join(fragment.css for fragment in used.values())
    script = "".join(fragment.js for fragment in used.values())
    data = {f"{name}-data": fragment.data for name, fragment in used.items()}

    def whole(links: Markup) -> str:
        """Return the whole page with these links to the rows; chapters without content are left out."""
        with_links = [*folded, Chapter("rows", "Raw data", links)]
        body = html.filled(
            "run.html",
            title=title,
            source=source,
            first=first,
            chapters=[chapter for chapter in opened if chapter.inside],
            folded=[chapter for chapter in with_links if chapter.inside],
        )
        return html.shell(title, body, style, script, data)

    # The rows are in the page only if they fit. So it is made twice: without them, to know its size, and with them.
    return whole(downloads(studies, extras, len(whole(Markup()).encode("utf-8", "replace"))))


def _markup(fragment: html.Fragment | None) -> Markup:
    """Return the HTML of a part with a script; empty without one."""
    return Markup("" if fragment is None else fragment.html)  # noqa: S704  (written by the study)


def _title(rows: Sequence[Row], machine: dict[str, Any], extras: Extras) -> str:
    """Return the title: experiment, machine and day."""
    where = str(machine.get("cpu") or machine.get("host") or "an unknown machine")
    day = folders.date(rows)
    experiment = folders.experiment(extras.name, machine)
    return words.plain(f"inflight: {experiment} on {where}{f', {day}' if day else ''}", 160)


def _about(extras: Extras, machine: Mapping[str, Any]) -> str:
    """Return what the experiment measures, in its own words; otherwise its command, or nothing if that is unknown."""
    text = folders.experiment_value(extras, "about")
    if not text or not isinstance(text, str):
        command = folders.command(machine)
        text = f"Command: {command}" if command else ""
    return words.plain(text.replace("`", "").strip(), 600)


def _answer(studies: Studies, answer: RunAnswer) -> Markup:
    """Return the findings of the decisions, or else the answer; then what is missing in the folder."""
    _, extras = studies.about
    last = html.listed(extras.missing, html.BAD)
    if not studies.rows:
        return html.listed(["This run has no rows: it ended before its first trial."], html.ANSWER) + last
    if studies.decisions:
        return html.listed([*conditions(studies), *findings(studies, studies.decisions)], html.ANSWER) + last
    table = html.table(answer.table) if answer.columns else Markup()
    below = html.listed([*answer.sentences, coverage(studies.rows)], html.ANSWER)
    return html.listed(answer.state, "notes") + table + below + last


def _sections(sections: Iterable[Section]) -> Markup:
    """Return sections as HTML."""
    return Markup().join(map(html.section, sections))


def _plots(every: Iterable[Picture], tell: Callable[[str], None]) -> dict[str, Markup]:
    """Return the plots for which the page has room, by their names; of the others, their titles alone."""
    drawn = dict[str, Markup]()
    size = 0
    with settings():
        for number, picture in enumerate(every, start=1):
            images = [html.data_address(draw_svg(panel)) for panel in picture.panels]
            plot = html.macro("plot", picture, images)
            tell(f"drawing plots: {number} so far, the last one is {picture.name}")
            if size + len(plot) > MAX_BYTES - MIN_ROOM:
                plot = html.listed([f"{TOO_LARGE}: {picture.name}: {picture.title}"])
            size += len(plot)
            drawn[picture.name] = plot
    return drawn


# Raw data


def downloads(studies: Studies, extras: Extras, taken_bytes: int) -> Markup:
    """Return links that contain the rows and a table of them; ``taken_bytes`` is the size of the rest of the page.

    The same rows give the same bytes.
    """
    if not studies.rows:
        return html.macro("downloads", [], "There are no rows.")
    room = MAX_BYTES - taken_bytes - _NOTE_BYTES
    links = list[dict[str, Any]]()
    left_out = list[str]()
    lines = "".join(f"{row.to_json()}\n" for row in studies.rows)
    texts = {
        "rows.jsonl": ("All rows, one JSON object per line", lines),
        "rows.csv": ("One line per trial", csv(studies.trials)),
    }
    for name, (what, text) in texts.items():
        packed = gzip.compress(text.encode("utf-8", "replace"), mtime=0)
        size = units.size(len(packed))
        address = Markup(f"data:application/gzip;base64,{base64.b64encode(packed).decode()}")  # noqa: S704
        if len(address) <= room:
            room -= len(address)
            download = f"{_ODD.sub('-', extras.name).strip('.-')[:120] or 'run'}-{name}.gz"
            links.append(
                {
                    "name": download,
                    "address": address,
                    "about": f"{what}, {size}",
                }
            )
        else:
            left_out.append(f"{name}.gz ({size})")
    where = f"; the rows are in {extras.rows_path}" if extras.rows_path else ""
    note = f"{TOO_LARGE}: {', '.join(left_out)}{where}." if left_out else ""
    return html.macro("downloads", links, note)
