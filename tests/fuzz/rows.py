"""Look for rows that are read and cannot be shown: stored rows with hostile values in them, and every output of each.

A case is a run made of stored rows, in most of which one to three values are replaced, left out or added. A row is
either refused with one sentence or kept; whatever was kept has to be shown by every output. Run it for a while with

    python tests/fuzz/rows.py --seconds 600 [--cases N] [--seed N] [--keep FOLDER]

It ends with 0 and the number of cases when nothing was found. Otherwise it ends with 1, after the hostile values with
which a run still fails; ``--keep`` says where that run is left.
"""

import copy
import json
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

from inflight import strategies  # noqa: E402 - these are found from the root, when this is run as a program
from inflight.bench.claims import claims  # noqa: E402
from inflight.bench.claims.command import Needed, work_out  # noqa: E402
from inflight.bench.rows import records  # noqa: E402
from inflight.bench.rows.files import ROWS_FILE, text  # noqa: E402
from inflight.bench.show.studies import Studies  # noqa: E402
from tests.cli.command import call  # noqa: E402
from tests.fuzz._options import read_options  # noqa: E402
from tests.patience import search  # noqa: E402

REFERENCE = ROOT / "results" / "reference"
MOST_ROWS = 24
MOST_SENTENCE = 400
TRIES = 8
"""How many hostile rows are made of one row, at most, until one is read."""
Values = dict[str, Any]
Path_ = tuple[str | int, ...]

HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, -0.0, 1, -1, 2, 7, 1000, 2**31, 10**9, 10**12, 10**15, 10**16, 10**17, 2**53, 2**63 - 1,
    -(2**63), 2**63, 2**64, 10**400, -(10**400), 10**4000, 0.5, 1.0, 1.5, -0.5, 1e-12, 1e-9, 1e9, 1e15, 1e16, 1e308,
    -1e308, 5e-324, "", " ", "x", "0", "50ms", "NaN", "callbacks", "x" * 200, "x" * 3000, "\u00e9\u4e2d\U0001f984",
    "\u202ereversed", "\ud800", "\x00", "\x1b[31m", "line\nline", "<script>alert(1)</script>", "</svg>&amp;]]>",
    "$\\frac{$", "$x^2$", "_hidden", "a|b`c`", "@name", "=1+1", "{x}", "%s %d", "../../etc", "-", [], {}, [None], [[]],
    [1], [1, 2, 3], [-1], ["x"], {"": 1}, {"x": None}, {"count": 0}, [[0, 1]], [[10**17, 10**12]],
)  # fmt: skip
STATUSES = ("ok", "wrong", "failed", "timeout", "skipped")


# Runs to begin from


@cache
def stored(folder: Path) -> list[Values]:
    """Return the rows of a stored run, as plain values."""
    return [json.loads(line) for line in text(folder).splitlines()]


@cache
def needed_by_claims() -> Needed:
    """Return what all claims rest on."""
    return work_out([claims.load(claim, strategies.names()) for claim in claims.ids()], quick=False)


@cache
def of_claims() -> dict[str, list[Values]]:
    """Return the rows that each claim rests on."""
    (folder,) = REFERENCE.glob("*-claims")
    found = [records.read(json.dumps(values)) for values in stored(folder)]
    return {
        claim.id: [json.loads(row.to_json()) for row in own] for claim, own in needed_by_claims().rows_of(found) if own
    }


def some_run(random: Random) -> list[Values]:
    """Return some rows of a stored run that belong together: of a claim, of a map, or of a few workloads."""
    if random.random() < 0.25:
        own = of_claims()[random.choice(sorted(of_claims()))]
        return own if len(own) <= 2 * MOST_ROWS else random.sample(own, 2 * MOST_ROWS)
    rows = stored(random.choice(sorted(REFERENCE.iterdir())))
    if rows[0]["run"].endswith("-map") and random.random() < 0.5:
        two = random.sample(sorted({row["strategy"] for row in rows}), 2)
        return [row for row in rows if row["strategy"] in two and row["round"] <= 2]
    workloads = sorted({row["workload"]["id"] for row in rows})
    chosen = set(random.sample(workloads, min(len(workloads), random.randint(1, 6))))
    own = [row for row in rows if row["workload"]["id"] in chosen]
    if random.random() < 0.3:
        own += random.sample(stored(random.choice(sorted(REFERENCE.iterdir()))), 1)
    return own[:MOST_ROWS]


# Hostile values


def mutated(values: Values, random: Random) -> Values:
    """Return a row with one to three values replaced, left out or added."""
    changed = copy.deepcopy(values)
    for _ in range(random.choice((1, 1, 2, 3))):
        where = random.choice(list(_places(changed)))
        _mutate(changed, where, random)
    if random.random() < 0.1:
        changed["status"] = random.choice(STATUSES)
        changed["reason"] = None if changed["status"] == "ok" else random.choice(("out of time", "\x00", "<b>"))
    return changed


def _places(value: Any, here: Path_ = ()) -> Iterator[Path_]:
    """Yield where the values of a row are; of a long list, a few."""
    if here:
        yield here
    if isinstance(value, dict):
        for key, own in value.items():
            yield from _places(own, (*here, key))
    elif isinstance(value, list):
        for place in range(min(len(value), 3)):
            yield from _places(value[place], (*here, place))


def _mutate(row: Values, where: Path_, random: Random) -> None:
    holder: Any = row
    for step in where[:-1]:
        holder = holder[step]
    key, old = where[-1], holder[where[-1]]
    roll = random.random()
    if roll < 0.12:
        del holder[key]
    elif roll < 0.2 and isinstance(holder, dict):
        holder[random.choice(("extra", "found", "bound_by", "cpu_ns", "stopped_by", "timeline", "", "x" * 300))] = (
            random.choice(HOSTILE)
        )
    elif roll < 0.4 and type(old) is int and abs(old) < 2**63:
        holder[key] = random.choice((old * 1000, old // 1000, old * 10**6, -old, old + 0.5, float(old), str(old)))
    elif roll < 0.45 and isinstance(old, list):
        holder[key] = random.choice((old[:1], old[1:], old * 2, old[::-1], old[: len(old) // 2]))
    else:
        holder[key] = random.choice(HOSTILE)


# Every output of a run


COMMANDS: dict[str, tuple[str, ...]] = {
    **{
        form: ("report", "{run}", "--format", form, "--output", "{out}/report")
        for form in ("html", "terminal", "md", "csv", "json", "parquet")
    },
    "compare": ("compare", "{before}", "{run}", "--out", "{out}", "--markdown", "{out}/compare.md"),
    "compare back": ("compare", "{run}", "{before}"),
    "race": ("race", "{run}", "--out", "{out}"),
    "advise": ("advise", "--latency", "50ms", "--in-flight", "100", "--from", "{run}", "--out", "{out}"),
    "advise as JSON": ("advise", "--latency", "50ms", "--in-flight", "100", "--from", "{run}", "--json"),
}
INTERNAL_ERROR = 70


def _plots(run: Path, out: Path) -> None:
    from inflight.bench.rows import files as rows

    Studies(rows.read(run)).save_plots({}, out / "plots")


def _tables(run: Path, out: Path) -> None:
    import inflight
    from inflight.bench.show.studies import STUDIES

    results = inflight.load(run)
    for name in ("frame", "trials", "moments", "checks"):
        getattr(results, name).to_csv(out / f"{name}.csv")
    for name in (study.name for study in STUDIES):
        results.table(name).to_csv(out / f"{name}.csv")
    json.dumps(results.summary(), allow_nan=False)
    results.answer()


def _claims(run: Path, _out: Path) -> None:
    from inflight.bench.claims import show
    from inflight.bench.claims.evaluate import judge
    from inflight.bench.claims.verdicts import Report
    from inflight.bench.rows import files as rows
    from inflight.bench.show.markdown import markdown

    verdicts = tuple(judge(claim, own) for claim, own in needed_by_claims().rows_of(rows.read(run)))
    report = Report(machine={}, source="", runs=(), measured=0, reused=0, claims=verdicts)
    show.lines(report)
    for verdict in verdicts:
        show.whole(verdict, 100)
    markdown(show.section(report))


FUNCTIONS: dict[str, Callable[[Path, Path], None]] = {
    "plots": _plots,
    "tables": _tables,
    "claims": _claims,
}
OUTPUTS = (*COMMANDS, *FUNCTIONS)


def show(name: str, run: Path, before: Path, out: Path) -> None:
    """Show a run by an output; a command may refuse it in a sentence. Raises whatever is wrong."""
    if name in FUNCTIONS:
        FUNCTIONS[name](run, out)
        return
    done = call(*(word.format(run=run, before=before, out=out) for word in COMMANDS[name]))
    assert done.code != INTERNAL_ERROR, done.err


# Cases


@dataclass(frozen=True)
class Case:
    """A run with hostile rows."""

    before: list[Values]
    after: list[Values]


class FoundError(AssertionError):
    """A row that was neither refused with one sentence nor shown by every output; the message says which and how."""


def make_case(random: Random) -> Case:
    """Make a run. Raises FoundError for a row that is refused with more than a sentence, or with another error."""
    before = some_run(random)
    return Case(before, [_hostile(values, random) for values in before])


def _hostile(values: Values, random: Random) -> Values:
    """Return a row that is read and has something hostile in it; as it was where all that was tried is refused."""
    for _ in range(random.randint(0, TRIES)):
        if is_row(hostile := mutated(values, random)):
            return hostile
    return values


def is_row(values: Values) -> bool:
    """Tell whether a row is read. Raises FoundError when it is refused with anything but one sentence."""
    line = _json(values)
    try:
        records.read(line)
    except ValueError as error:
        words = str(error)
        if not words or "\n" in words or len(words) > MOST_SENTENCE:
            raise FoundError(f"refused with {words!r:.2000}: {line:.2000}") from error
        return False
    except Exception as error:
        raise FoundError(f"refused with {type(error).__name__}: {error}: {line:.2000}") from error
    return True


def _json(values: Any) -> str:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return json.dumps(values)
    finally:
        sys.set_int_max_str_digits(limit)


def failure(case: Case, outputs: Sequence[str] = OUTPUTS) -> tuple[str, str] | None:
    """Return the first output that cannot show a run, and its traceback; None when all can."""
    with tempfile.TemporaryDirectory() as folder:
        run, before, out = (Path(folder) / name for name in ("run", "before", "out"))
        for place, rows in ((run, case.after), (before, case.before)):
            write(place, rows)
        for name in outputs:
            out.mkdir(exist_ok=True)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    show(name, run, before, out)
            except Exception:  # noqa: BLE001 - whatever it is, it is what is looked for
                return name, traceback.format_exc()
    return None


def write(folder: Path, rows: Sequence[Values]) -> None:
    """Write rows as a run."""
    folder.mkdir(parents=True)
    (folder / "machine.json").write_text("{}", "utf-8")
    (folder / ROWS_FILE).write_text("".join(f"{_json(row)}\n" for row in rows), "utf-8")


def main() -> int:
    """Look for some time, or at some cases; return the exit code."""
    asked = read_options("Look for rows that are read and cannot be shown.", keep=Path())
    cases = 0
    for number in search(asked.seed, asked.cases, asked.seconds):
        try:
            case = make_case(Random(number))
        except FoundError as error:
            print(f"rows: {error}\nagain: --seed {number} --cases 1")
            return 1
        cases += 1
        if (found := failure(case)) is not None:
            tell(case, *found, asked.keep)
            print(f"again: --seed {number} --cases 1")
            return 1
    print(f"rows: {cases:,} cases with seed {asked.seed}, nothing found")
    return 0


def tell(case: Case, output: str, trace: str, keep: Path) -> None:
    """Print what is hostile in a run that an output cannot show, and how it fails."""
    if keep != Path():
        write(keep, case.after)
    print(trace)
    for old, new in zip(case.before, case.after, strict=True):
        for change in differences(old, new):
            print(f"  {old['kind']}: {change}")
    print(f"rows: {output} cannot show these {len(case.after)} rows")


def differences(old: Any, new: Any, path: str = "$") -> Iterator[str]:
    """Yield what is not the same in two rows, by its path."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from differences(
                old.get(key, "(nothing)"),
                new.get(key, "(nothing)"),
                f"{path}.{key}",
            )
    elif _json(old) != _json(new):
        yield f"{path}: {_json(old):.60} -> {_json(new):.60}"


if __name__ == "__main__":
    sys.exit(main())
