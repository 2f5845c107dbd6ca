"""Write what README.md and docs/ quote and show of the stored runs.

    python -m tools.document [--check]

``parts.md`` has the text of each part; ``values`` has its figures. The plots that pages show are drawn again. With
``--check``, nothing is written or drawn; the exit code is 1 when a file is not up to date.
"""

import argparse
import math
import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template, TemplateError

from inflight.bench import units
from inflight.bench.ab import decide as decisions_of
from inflight.bench.ab import show as comparison
from inflight.bench.claims import show as claims
from inflight.bench.cli import EXITS
from inflight.bench.frame.figures import FIGURES
from inflight.bench.rows.files import RowsError
from inflight.bench.show import markdown, sections, words
from inflight.bench.show.markdown import code, escaped
from tools.document import plots, printed, race, values
from tools.document import simulator as simulator_page
from tools.document.stored import REFERENCE, DocumentError, Runs, StoredRun

PAGES = ("README.md", "docs/*.md", "docs/slides/*.md")
"""Files with marks: ``<!-- name: begin -->`` and, below it, ``<!-- name: end -->``."""
MARK = re.compile(r"<!-- (\w+): begin -->\n")
UNITS = ("count", "duration", "number", "percent", "size", "times")
FILTERS: dict[str, Callable[..., Any]] = {
    **{name: getattr(units, name) for name in UNITS},
    "code": code,
    "described": race.described,
    "escaped": escaped,
    "exp": math.exp,
    "indented": lambda text: "\n".join(f"    {_printable(line)}".rstrip() for line in text.splitlines()),
    "log": math.log,
    "log_ratio": lambda cycle: math.log(cycle[2] / cycle[1]),
    "mean": lambda mean, figure: sections.text(FIGURES[figure], mean),
    "memory": values.slope_text,
    "p": lambda p: units.number(p, 2) if p >= 0.00001 else "below 0.00001",
    "section": markdown.markdown,
    "table": markdown.table_markdown,
}
GLOBALS = {
    "claims": claims,
    "comparison": comparison,
    "decisions_of": decisions_of,
    "exits": EXITS,
    "folded": markdown.folded,
    "glossary": words.TEXTS["glossary"].items,
    "values": values,
}


def main() -> int:
    """Do what the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is not up to date")
    asked = parser.parse_args()
    runs = Runs(REFERENCE)
    try:
        if not asked.check:
            plots.save_ladder(runs, Path())
        code = document(runs, Path(), is_check=asked.check)
        if not asked.check:
            plots.renew(runs)
        return code
    except (DocumentError, RowsError) as error:
        print(error, file=sys.stderr)
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
    return 1


def document(runs: Runs, root: Path, *, is_check: bool) -> int:
    """Write every page that is not as it should be, or say so; return the exit code."""
    stale = [(path, text) for path, old, text in pages(runs, root) if old != text]
    for path, text in stale:
        if is_check:
            print(f"{path} is not up to date; run `make readme`", file=sys.stderr)
        else:
            path.write_text(text, encoding="utf-8")
    return 1 if stale and is_check else 0


def pages(runs: Runs, root: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield each page and picture below a folder, with its text and what it should be. Raises DocumentError."""
    for path in (path for pattern in PAGES for path in sorted(root.glob(pattern))):
        old = text = path.read_text(encoding="utf-8")
        for mark in MARK.findall(old):
            try:
                text = replaced(text, mark, part(f"{path.stem}_{mark}", runs, path.parent))
            except DocumentError as error:
                raise DocumentError(f"{path.relative_to(root)}: {mark}: {error}") from error
        yield path, old, text
        if path.name == printed.SLIDES:
            yield _page(root / printed.LECTURE, printed.lecture(text))
    for name, sheet in printed.SHEETS.items():
        yield _page(root / name, sheet())
    for name, whole in {race.PICTURE: race.picture, simulator_page.PAGE: simulator_page.html}.items():
        yield _page(root / name, whole(runs))


def _page(path: Path, text: str) -> tuple[Path, str, str]:
    """Return a file that is written as a whole, with its text and what it should be."""
    return path, path.read_text(encoding="utf-8") if path.is_file() else "", text


def part(name: str, runs: Runs, beside: Path) -> str:
    """Return one part for a page in the folder ``beside``. Raises DocumentError."""
    macro = getattr(macros(runs, beside), name.lower().replace("-", "_"), None)
    if macro is None:
        raise DocumentError("parts.md has nothing for it")
    try:
        return re.sub(r"\n{3,}", "\n\n", macro()).strip("\n")
    except TemplateError as error:
        raise DocumentError(str(error)) from error


def macros(runs: Runs, beside: Path) -> Any:
    """Return the macros of ``parts.md``."""
    decisions = runs.folder.parent / "decisions"
    return _template().make_module({"runs": runs, "decisions": decisions, "picture": partial(picture, runs, beside)})


def picture(runs: Runs, beside: Path, run: StoredRun, plot: str, words_for_it: str) -> str:
    """Return a link to one of the plots of a run, and note that it is shown."""
    path = run.folder / plots.FOLDER / f"{plot}.svg"
    runs.plots.setdefault(run.folder, set()).add(path.name)
    return f"![{words_for_it}]({Path(os.path.relpath(path.resolve(), beside.resolve())).as_posix()})"


def given(*facts: object) -> str:
    """Return nothing, if the sentence beside it is still true. Raises DocumentError."""
    if not all(facts):
        raise DocumentError("a run no longer shows what the text says; write that sentence of parts.md again")
    return ""


def replaced(text: str, name: str, part: str) -> str:
    """Return the text with a part between its marks. Raises DocumentError."""
    begin, end = (f"<!-- {name}: {place} -->" for place in ("begin", "end"))
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise DocumentError(f"it needs the line {begin} and, below it, the line {end}, each once")
    return f"{text[: text.index(begin)]}{begin}\n{part}\n{text[text.index(end) :]}"


@cache
def _template() -> Template:
    environment = Environment(  # noqa: S701  (Markdown: the templates escape what they write)
        loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= FILTERS
    environment.globals |= GLOBALS | {"given": given}
    return environment.get_template("parts.md")


def _printable(line: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in line)


if __name__ == "__main__":
    sys.exit(main())
