"""A run as one HTML page that explains itself: no network, no tracking, a strict content policy, under 3 MB.

It works in light and dark mode, on a phone, in print, with a screen reader and without JavaScript (except the race).
All of it is made from the files in the run's folder.
"""

import base64
import gzip
import io
import os
import re
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from inflight.bench import units
from inflight.bench.predict import simulator
from inflight.bench.present import html
from inflight.bench.present import page as sheets
from inflight.bench.present.inline_svg import inline
from inflight.bench.race import page as race
from inflight.bench.rows.files import Row, read
from inflight.bench.show import folder as folders
from inflight.bench.show import studies, words
from inflight.bench.show.folder import Extras
from inflight.bench.show.results import Results
from inflight.bench.show.studies import Studies
from inflight.bench.show.summary import answer, glossary, shown, validity
from inflight.bench.show.table import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Extras", "page", "write"]

PAGE_FILE = "report.html"
MOST_BYTES = 3_000_000
"""Maximum size of a page; plots, then the table, then the rows are left out of a larger one."""
_LEAST_ROOM = 200_000
"""Bytes that plots leave to the rest of the page."""
_TOLD_BYTES = 2_000
"""Room for the sentences beside the links."""
_ODD = re.compile(r"[^\w.-]+", re.ASCII)

Drawn = Iterable[tuple[str, str]]
"""Plots: their names and SVGs."""


def _silent(_step: str) -> None:
    """Show nothing."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the page: id, heading and content; the content of a ``whole`` part includes the heading."""

    id: str
    heading: str
    inside: Markup
    is_whole: bool = False


def write(
    folder: Path,
    path: Path | None = None,
    drawn: Sequence[Path] | None = None,
    tell: Callable[[str], None] = _silent,
    so_far: str = "",
) -> Path:
    """Write the page of a run, by default as ``report.html`` in its folder, and return its path.

    ``drawn`` are the files of its plots, if they have just been drawn. ``tell`` is called with each step. ``so_far`` is
    the first sentence of the page of a run that is not complete. An existing page is replaced only after the new one is
    complete. Raises RowsError for a folder that is not a run, and OSError if the page cannot be written.
    """
    tell("reading the rows")
    rows = read(folder)
    machine, extras = folders.read(folder)
    target = (folder / PAGE_FILE if path is None else path).resolve()
    svgs = None if drawn is None else [(one.stem, one.read_text("utf-8")) for one in drawn if one.suffix == ".svg"]
    content = page(rows, machine, replace(extras, so_far=so_far), svgs, tell)
    if target.exists() and not target.is_file():  # a device or a pipe is written to, never replaced
        target.write_text(content, encoding="utf-8", errors="replace", newline="\n")
    else:
        _replace(target, content)
    return folder / PAGE_FILE if path is None else path


def _replace(target: Path, content: str) -> None:
    handle, name = tempfile.mkstemp(prefix=".report-", suffix=".html", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def page(
    rows: Sequence[Row],
    machine: dict[str, Any],
    extras: Extras,
    drawn: Drawn | None = None,
    tell: Callable[[str], None] = _silent,
) -> str:
    """Return the page of a run, as HTML.

    ``machine`` has the values of ``machine.json``, ``extras`` the other contents of the folder, ``drawn`` its plots,
    which are drawn here by default. The same arguments give the same page.
    """
    found = Studies([row for row in rows if not row.of_comparison])
    others = found.rows
    plots_, css = _plots(_told(_svgs(rows, machine, extras, found), tell) if drawn is None else drawn)
    decided = studies.decisions(rows, extras)
    scripted = {"race": race.fragment(others), "simulator": simulator.fragment(others)}
    title = _title(rows, machine, extras)
    answer_, verdicts_, figures_ = _answer(found, rows, decided, extras.missing), _sections(decided), _figures(found)
    validity_ = html.section(validity(rows))

    def whole(links: Markup) -> str:
        """Return the whole page with these links to the rows."""
        parts = [
            Part("answer", "Findings", answer_),
            Part("verdicts", "Verdicts", verdicts_),
            Part("race", "The race", _markup(scripted["race"]), is_whole=True),
            Part("plots", "Plots", plots_),
            Part("simulator", "Simulator", _markup(scripted["simulator"]), is_whole=True),
            Part("figures", "Tables", figures_),
            Part("validity", "Validity checks", validity_),
            Part("glossary", "Glossary", html.section(glossary())),
            Part("machine", "The machine", html.section(folders.machine_section(rows, machine))),
            Part("reproduce", "Reproduce", html.section(folders.reproduce(machine, extras.experiment_toml))),
            Part("rows", "Raw data", links),
        ]
        body = html.filled(
            "run.html",
            title=title,
            source=folders.source(rows, machine),
            first=[
                *([extras.so_far] if extras.so_far else []),
                *([what] if (what := _what(extras.experiment_toml, machine)) else []),
                *([words.neighbour(str(kind))] if (kind := machine.get("neighbour")) else []),
            ],
            shown=[part for part in parts if part.inside],
        )
        own = {name: one for name, one in scripted.items() if one}
        style, script = (
            "".join(parts) for parts in ((one.css for one in own.values()), (one.js for one in own.values()))
        )
        return html.shell(title, body, style + css, script, {f"{name}-data": one.data for name, one in own.items()})

    taken = len(whole(Markup()).encode("utf-8", "replace"))
    return whole(downloads(rows, extras, taken))


def _markup(found: html.Fragment | None) -> Markup:
    return Markup("" if found is None else found.html)  # noqa: S704  (written by the study)


def _title(rows: Sequence[Row], machine: dict[str, Any], extras: Extras) -> str:
    """Return the title: experiment, machine and day."""
    where = str(machine.get("cpu") or machine.get("host") or "an unknown machine")
    day = folders.date(rows)
    experiment = folders.experiment(extras.name, machine)
    return words.plain(f"inflight: {experiment} on {where}{f', {day}' if day else ''}", 160)


def _what(experiment_toml: str | None, machine: Mapping[str, Any]) -> str:
    """Return what the experiment measures, in its own words; otherwise its command, or nothing if that is unknown."""
    command = folders.command(machine)
    return _about(experiment_toml) or (words.plain(f"Command: {command}", 600) if command else "")


def _about(experiment_toml: str | None) -> str:
    try:
        found = tomllib.loads(experiment_toml or "").get("about", "")
    except tomllib.TOMLDecodeError:  # the file of a folder from elsewhere; it is shown as it is at the end of the page
        return ""
    return words.plain(found.replace("`", "").strip(), 600) if isinstance(found, str) else ""


def _answer(found: Studies, rows: Sequence[Row], decided: Sequence[Section], missing: Sequence[str]) -> Markup:
    told = answer(found, decided, rows) if rows else ["This run has no rows: it ended before its first trial."]
    return html.listed(told, html.ANSWER) + html.listed(missing, html.BAD)


def _figures(found: Studies) -> Markup:
    return _sections(shown(found)) if found.rows else Markup()


def _sections(found: Iterable[Section]) -> Markup:
    return Markup().join(map(html.section, found))


# Plots


def _svgs(rows: Sequence[Row], machine: dict[str, Any], extras: Extras, found: Studies) -> Iterator[tuple[str, str]]:
    """Draw every plot of the rows, one after another."""
    with sheets.settings():
        for name, figure in chain(
            studies.decision_plots(rows, machine, extras), found.plots(folders.source(rows, machine))
        ):
            yield name, _svg(figure)


def _told(drawn: Drawn, tell: Callable[[str], None]) -> Iterator[tuple[str, str]]:
    """Yield plots, and tell after each how many there are so far."""
    for number, (name, svg) in enumerate(drawn, start=1):
        tell(f"drawing plots: {number} so far, the last one is {name}")
        yield name, svg


def _svg(figure: "Figure") -> str:
    file = io.StringIO()
    sheets.write_svg(figure, file)
    return file.getvalue()


def _plots(drawn: Drawn) -> tuple[Markup, str]:
    """Return the plots for which the page has room, the names of the others, and the style rules."""
    found, css = inline(drawn)
    kept, left_out, room = Markup(), list[str](), MOST_BYTES - _LEAST_ROOM - len(css)
    for one in found:
        if len(one.svg) <= room:
            room -= len(one.svg)
            kept += html.plot(one)
        else:
            left_out.append(f"Left out because the page would be too large: {one.name}: {one.finding}")
    return kept + html.listed(left_out), css


# Raw data


def downloads(rows: Sequence[Row], extras: Extras, taken_bytes: int) -> Markup:
    """Return links that contain the rows and a table of them; ``taken_bytes`` is the size of the rest of the page.

    The same rows give the same bytes.
    """
    if not rows:
        return html.downloads([], "There are no rows.")
    room = MOST_BYTES - taken_bytes - _TOLD_BYTES
    kept, left_out = list[dict[str, Any]](), list[str]()
    lines = "".join(f"{row.to_json()}\n" for row in rows)
    texts = {
        "rows.jsonl": ("All rows, one JSON object per line", lines),
        "rows.csv": ("One line per trial", Results(Path(), list(rows), {}).csv()),
    }
    for name, (what, text) in texts.items():
        packed = gzip.compress(text.encode("utf-8", "replace"), mtime=0)
        size = units.size(len(packed))
        address = Markup(f"data:application/gzip;base64,{base64.b64encode(packed).decode()}")  # noqa: S704
        if len(address) <= room:
            room -= len(address)
            file = f"{_file_name(extras.name)}-{name}.gz"
            kept.append({"name": file, "address": address, "about": f"{what}, {size}"})
        else:
            left_out.append(f"{name}.gz ({size})")
    where = f"; the rows are in {extras.rows_path}" if extras.rows_path else ""
    told = f"Left out because the page would be too large: {', '.join(left_out)}{where}." if left_out else ""
    return html.downloads(kept, told)


def _file_name(name: str) -> str:
    """Return a name that every file system accepts."""
    return _ODD.sub("-", name).strip(".-")[:120] or "run"
