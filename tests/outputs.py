"""What the program says of rows, as texts that are stored beside the recorded runs and compared line by line."""

import difflib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from inflight.bench.rows.files import Row
from inflight.bench.show import page as pages
from inflight.bench.show import pictures
from inflight.bench.show.folder import Extras
from inflight.bench.show.progress import step_lines, table_so_far
from inflight.bench.show.results import Results
from inflight.bench.show.studies import Studies
from inflight.bench.show.summary import as_markdown, summary_table
from inflight.bench.show.table import Section
from inflight.bench.show.terminal import text
from tests.made_rows import RECORDED, recorded

__all__ = ["RECORDED", "recorded"]

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RUNS = sorted(path.parent.name for path in RECORDED.glob("*/rows.jsonl.xz"))
NOUGHT = 1e-6
"""What is nearer to 0 is an error of rounding, which depends on the instructions of the processor."""
OUTLINED = {"title", "h1", "h2", "h3", "caption", "summary"}
"""The elements of a page whose text is in its outline."""


def studies_knowing(rows: Sequence[Row], **known: Any) -> Studies:
    """Return the studies of rows for which these values are already known, such as what is in their folder."""
    studies = Studies(rows)
    vars(studies).update(known)
    return studies


def terminal(studies: Studies) -> str:
    """Return a run as a terminal of 80 columns shows it, with its pictures: what is drawn, and where."""
    shown = summary_table(studies, 80).plain
    return "\n".join([shown, *filter(None, [details(studies)]), "", *drawn(studies)])


def details(studies: Studies) -> str:
    """Return what a page shows only when it is unfolded."""
    folded = [detail for section in studies.sections for detail in section.details]
    return "\n".join(text(Section(detail.summary, detail.tables), 80).plain for detail in folded)


def summary(studies: Studies) -> str:
    """Return the summary as JSON, but for the number of the newest format."""
    values = Results(Path("made"), list(studies.rows), {}).summary()
    return as_lines(values | {"format": 0})


def as_lines(values: dict[str, Any]) -> str:
    """Return JSON values with an object per line; numbers have nine digits, as the last ones vary."""
    return "\n".join(_lines(values))


def outline(studies: Studies) -> str:
    """Return the headings of the page, the captions of its tables and the texts of its images."""
    parser = _Outline()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "draw_svg", lambda _panel: "")
        if studies.folder is None:
            studies = studies_knowing(studies.rows, about=({}, Extras("made")))
        parser.feed(pages.page(studies))
    return "\n".join(parser.lines)


def progress(studies: Studies) -> str:
    """Return the lines of all trials of a run as they end, and the table of what has been measured."""
    rows = studies.rows
    lines: list[str] = []
    for number, (_, block) in enumerate(groupby(rows, lambda row: (row.round, row.workload.id, row.kind)), 1):
        lines += step_lines(number, len(rows), list(block))
    planned = Counter(row.arm for row in rows if row.IS_CRAWL)
    return "\n".join([*lines, table_so_far(planned, rows)])


FORMS = {"txt": terminal, "md": as_markdown, "json": summary, "page": outline, "progress": progress}


def compare(texts: Mapping[Path, str], config: pytest.Config) -> None:
    """Hold texts against what is stored in these files; with ``--update-outputs`` they are stored instead."""
    diff: list[str] = []
    for path, shown in texts.items():
        lines = [line.rstrip() for line in f"{shown.rstrip()}\n".splitlines()]
        if config.getoption("--update-outputs"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        stored = path.read_text(encoding="utf-8").splitlines()
        diff += difflib.unified_diff(stored, lines, "/".join(path.parts[-2:]), "now", lineterm="")
    if diff:
        pytest.fail("\n".join(diff), pytrace=False)


def drawn(studies: Studies) -> Iterator[str]:
    """Yield a line for each picture, each of its panels, and each mark on them."""
    with pictures.settings():
        for picture in (*studies.decision_pictures(), *studies.pictures()):
            yield f"picture {picture.name}: {picture.title}. {picture.notes}"
            for panel, axes in zip(picture.panels, pictures.draw_sheet(picture).axes, strict=False):
                yield f"  {panel.title} [{axes.get_xlabel()}; {axes.get_ylabel()}]"
                yield from (f"    {mark}" for mark in _marks(axes))


def _marks(axes: "Axes") -> Iterator[str]:
    names = [label.get_text() for axis in (axes.yaxis, axes.xaxis) for label in axis.get_ticklabels()]
    yield " | ".join(dict.fromkeys([*filter(None, names), *(label.get_text() for label in axes.texts)]))
    for line in axes.lines:
        points = [f"{x:.4g},{y:.4g}" for x, y in np.asarray(line.get_xydata(), float)]
        yield f"{line.get_marker()} {line.get_color()} {len(points)}: {' '.join([*points[:4], *points[4:][-2:]])}"
    for bar in axes.patches:
        box = bar.get_path().get_extents(bar.get_patch_transform())
        yield f"bar {box.x0:.4g} to {box.x1:.4g}, {box.y0:.4g} to {box.y1:.4g}"


class _Outline(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._open: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.lines += [f"img {value}" for name, value in attrs if tag == "img" and name == "alt"]
        if tag in OUTLINED:
            self._open = tag
            self.lines.append(f"{tag} ")

    def handle_endtag(self, tag: str) -> None:
        self._open = None if tag == self._open else self._open

    def handle_data(self, data: str) -> None:
        if self._open:
            self.lines[-1] += data.replace("\xa0", " ")


def _lines(value: Any, path: str = "") -> Iterator[str]:
    """Yield JSON values as lines: a path, and an object or a list without others in it."""
    if isinstance(value, dict) and any(isinstance(each, dict | list) for each in value.values()):
        for name, each in value.items():
            yield from _lines(each, f"{path}.{name}")
    elif isinstance(value, list) and any(isinstance(each, dict) for each in value):
        for number, each in enumerate(value):
            yield from _lines(each, f"{path}.{number}")
    else:
        yield f"{path[1:]}: {json.dumps(_rounded(value), ensure_ascii=False)}"


def _rounded(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each, key) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    if name == "intercept":  # in bytes; that of a line through 0 depends on the instructions of the processor
        return float(f"{round(value, 6) + 0.0:.9g}")
    return float(f"{value:.9g}") if isinstance(value, float) else value
