"""``inflight compare``: read both sides, refuse what cannot be compared, compare, and print."""

import json
from collections.abc import Callable
from pathlib import Path

from inflight.bench.commands.output import say
from inflight.bench.measure.places import without_places
from inflight.bench.present import words
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import RowsError
from inflight.bench.studies.stored import show
from inflight.bench.studies.stored.benchmark_json import BenchmarkError, of_json, parse
from inflight.bench.studies.stored.read import Comparison, compare_sides
from inflight.bench.studies.stored.side import Side, differences, of_rows

EXITS = {"pass": 0, "regression": 1, "inconclusive": 3}
JSON_FILE, MARKDOWN_FILE = "compare.json", "compare.md"
_GIVE = "give two run folders, or two JSON files of pytest-benchmark"


class CompareError(Exception):
    """The two sides cannot be compared; the message says why, and what to do."""


REFUSALS = (CompareError, RowsError, BenchmarkError)


def run(
    *, base: Path, head: Path, unlike: bool, every: bool, out: Path | None, as_json: bool, markdown: Path | None
) -> int:
    """Compare, print, write the requested files, and return the exit code of the verdict."""
    sides = _sides(base, head)
    if not unlike:
        _refuse_unlike(*sides)
    found = compare_sides(*sides)
    if not found.compared:
        raise CompareError(f"{base} and {head} have no cell in common: no workload was run in both")
    if as_json:
        print(json.dumps(show.to_json(found), allow_nan=False))
        say(show.title(found))
    else:
        print(show.text(found, every=every))
    try:
        if markdown is not None:
            with markdown.open("a", encoding="utf-8") as file:
                file.write(show.markdown(found))
        for path in _write(found, out) if out is not None else ():
            say(f"written: {path}")
    except OSError as error:
        raise CompareError(f"cannot write {error.filename or out}: {error.strerror}") from error
    return EXITS[found.verdict]


def _sides(base: Path, head: Path) -> tuple[Side, Side]:
    for path in (base, head):
        if not path.exists():
            raise CompareError(f"there is no {path}; {_GIVE}")
    if base.samefile(head) or _same_rows(base, head):
        raise CompareError(f"{base} and {head} are the same run: there is nothing to compare")
    if base.is_dir() != head.is_dir():
        file, folder = (head, base) if base.is_dir() else (base, head)
        raise CompareError(f"{folder} is a folder and {file} is a file; {_GIVE}")
    for path in (base, head):
        if not (path.is_dir() or path.is_file()):
            raise CompareError(f"{path} is not a regular file; {_GIVE}")
    read: Callable[[Path], Side] = _run if base.is_dir() else _benchmarks
    return read(base), read(head)


def _same_rows(base: Path, head: Path) -> bool:
    """Tell whether two folders have the same file of rows."""
    files = [rows.file_in(path) for path in (base, head)]
    return all(file.is_file() for file in files) and files[0].samefile(files[1])


def _run(folder: Path) -> Side:
    found = rows.read(folder)
    if not found:
        raise CompareError(f"{folder} has no rows: its run ended before the first trial ended")
    if not any(row.valid for row in found):
        raise CompareError(f"{folder} has no valid row among {len(found)}: nothing in it can be compared")
    side = of_rows(without_places(str(folder)), found, _machine(folder / rows.MACHINE_FILE))
    if not side.entries:
        raise CompareError(f"{folder} has neither crawls nor memory trials; other trials are not compared")
    return side


def _machine(path: Path) -> dict[str, object]:
    try:
        machine = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CompareError(
            f"{path.parent} is not a complete run: cannot read {path.name} ({error.strerror}), "
            "which describes its machine"
        ) from error
    except (ValueError, RecursionError) as error:
        raise CompareError(f"{path} is not JSON: {error}") from error
    if not isinstance(machine, dict):
        raise CompareError(f"{path} does not describe a machine: it must be a JSON object")
    return machine


def _benchmarks(path: Path) -> Side:
    try:
        values = parse(path.read_text(encoding="utf-8"))
        side = of_json(without_places(str(path)), values)
    except OSError as error:
        raise CompareError(f"cannot read {path} ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise CompareError(f"{path} is not text; {_GIVE}") from error
    except BenchmarkError as error:
        raise CompareError(f"{path} {error}; {_GIVE}") from error
    if not side.entries:
        raise CompareError(f"{path} contains no benchmark: all were skipped or failed")
    if side.invalid == side.trials:
        raise CompareError(f"{path} has no valid benchmark among {side.trials}: each failed a check")
    return side


def _refuse_unlike(base: Side, head: Side) -> None:
    found = differences(base.hardware, head.hardware)
    if found:
        told = words.plain(", ".join(f"{one.name} ({one.base} / {one.head})" for one in found), 600)
        raise CompareError(f"the machines differ in {told}; --unlike compares them anyway, without a verdict on times")


def _write(found: Comparison, folder: Path) -> list[Path]:
    from inflight.bench.studies.stored.plot import save_forest

    folder.mkdir(parents=True, exist_ok=True)
    told = json.dumps(show.to_json(found), indent=2, allow_nan=False)
    (folder / JSON_FILE).write_text(f"{told}\n", encoding="utf-8")
    (folder / MARKDOWN_FILE).write_text(show.markdown(found), encoding="utf-8")
    return [folder / JSON_FILE, folder / MARKDOWN_FILE, *save_forest(found, folder)]
