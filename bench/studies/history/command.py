"""``inflight history``: read stored runs, find change points, print and plot."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

from inflight.bench.commands.output import say, say_plots
from inflight.bench.measure.places import without_places
from inflight.bench.plan.arm import REFERENCE
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import RowsError
from inflight.bench.studies.history import changes, show
from inflight.bench.studies.history.read import By, LeftOut, Run, history, of_benchmarks, of_run
from inflight.bench.studies.stored.benchmark_json import BenchmarkError, parse

JSON_FILE, MARKDOWN_FILE = "history.json", "history.md"
BY: tuple[By, ...] = get_args(By)
_MOST_REASONS = 5


class HistoryError(Exception):
    """There is nothing to show; the message says why, and what to do."""


REFUSALS = (HistoryError,)


def run(
    *,
    places: tuple[Path, ...],
    by: By,
    reference: str | None,
    every: bool,
    out: Path | None,
    as_json: bool,
    markdown: Path | None,
) -> int:
    """Print the history, write the requested files, and return 0."""
    against = reference or REFERENCE
    found = history(_read(places or (Path("results"),), against), by, against, changes.finder())
    if isinstance(found, list):
        raise HistoryError(_nothing(places, found))
    known = sorted({one.key.subject for one in found.series})
    if reference not in {None, *known}:
        raise HistoryError(f"--against: no run has the strategy {reference!r:.80}; known: {', '.join(known)}")
    if as_json:
        print(json.dumps(show.to_json(found), allow_nan=False))
        say(show.title(found))
    else:
        print(show.text(found, every=every))
    try:
        if markdown is not None:
            with markdown.open("a", encoding="utf-8") as file:
                file.write(show.markdown(found))
        if out is not None:
            from inflight.bench.studies.history.plot import save_history

            out.mkdir(parents=True, exist_ok=True)
            told = json.dumps(show.to_json(found), indent=2, allow_nan=False)
            (out / JSON_FILE).write_text(f"{told}\n", encoding="utf-8")
            (out / MARKDOWN_FILE).write_text(show.markdown(found), encoding="utf-8")
            say_plots(save_history(found, out))
    except OSError as error:
        raise HistoryError(f"cannot write {error.filename or out}: {error.strerror}") from error
    return 0


def _nothing(places: Sequence[Path], left_out: Sequence[LeftOut]) -> str:
    where = ", ".join(map(str, places)) or "results"
    if not left_out:
        return f"no run and no file of pytest-benchmark in {where}; `inflight run` makes a run"
    reasons = list(show.left_out_told(left_out))
    return f"no run is left of {len(left_out)} in {where}. {' '.join(reasons[:_MOST_REASONS])}"


def _read(places: Sequence[Path], reference: str) -> Iterator[Run | LeftOut]:
    """Yield the runs and the files of pytest-benchmark in these places, each once. Raises HistoryError."""
    seen = set()
    for place in places:
        for path in _found_in(place):
            if (own := path.resolve()) not in seen:
                seen.add(own)
                yield _of_folder(path, reference) if path.is_dir() else _of_file(path)


def _found_in(place: Path) -> list[Path]:
    """Return the run folders at or below a place; without any, its JSON files."""
    if not place.exists():
        raise HistoryError(f"there is no {place}; give run folders, folders of runs, or files of pytest-benchmark")
    if not place.is_dir():
        return [place]
    folders = rows.folders_in(place, "**")
    return folders or sorted(place.rglob("*.json"))


def _of_folder(folder: Path, reference: str) -> Run | LeftOut:
    name = without_places(str(folder))
    try:
        machine = rows.machine(folder)
        if not machine:
            return LeftOut(name, f"no {rows.MACHINE_FILE}, which describes its machine")
        return of_run(name, rows.read(folder), machine, reference)
    except RowsError as error:
        return LeftOut(name, f"unreadable: {without_places(str(error))}")


def _of_file(path: Path) -> Run | LeftOut:
    name = without_places(str(path))
    try:
        return of_benchmarks(name, parse(path.read_text(encoding="utf-8")))
    except OSError as error:
        return LeftOut(name, f"unreadable: {error.strerror}")
    except UnicodeDecodeError:
        return LeftOut(name, "unreadable: not text")
    except BenchmarkError as error:
        return LeftOut(name, f"unreadable: it {error}")
