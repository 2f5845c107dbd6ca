"""The verdict of ``inflight ab --metric calls``: what B does per page, beside A. The rule for time is not used.

``command.count`` calls ``judge`` on the rows of both sides, ``show`` calls ``stored_section`` for a stored run. Counts
are calls of Python and C functions, system calls and bytecodes. They need no blocks, no looks and no t test: totals of
the same code are equal; where those of a side are not, their spread says how large a change must be. docs/ci.md says
what the verdict is worth.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from statistics import fmean
from typing import Any, Literal, get_args

from inflight.bench import units
from inflight.bench.frame.blocks import SIDES
from inflight.bench.frame.figures import figure_of
from inflight.bench.rows.files import Row
from inflight.bench.rows.kinds import CounterName, Counts
from inflight.bench.show import words
from inflight.bench.show.table import Section, Table
from inflight.bench.show.words import TEXTS

CallsAnswer = Literal["does the same", "does more", "does less", "does not repeat here", "compared, not gated"]
"""What B does beside A: of one counter, and as a verdict."""
EXITS: dict[CallsAnswer, int] = {
    "does the same": 0,
    "does less": 0,
    "compared, not gated": 0,
    "does more": 1,
    "does not repeat here": 3,
}
"""Exit code of each verdict."""
BY_WEIGHT: tuple[CallsAnswer, ...] = ("does more", "does not repeat here", "does less")
"""Of different answers, the first one is the verdict."""
MIN_CHANGE = 0.1
"""Smallest change per page where all repeats are equal: a call in ten pages; less may come from the state of a heap."""
SPREADS, MIN_SHARE = 3, 0.002
"""Smallest change where repeats differ: a multiple of their spread, and a share of the count."""
MAX_SPREAD = 0.02
"""Largest spread, as a share of the count, up to which a count repeats."""
MAX_FUNCTIONS = 10
"""Number of functions and system calls that are shown."""
MIN_SHOWN = 0.005
"""Change per page of a function below which it has none."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The counts of both sides with one counter, per page."""

    counter: str
    """What was counted (``rows.kinds.CounterName``)."""
    a: float
    """Count per page of A: the mean of its repeats."""
    b: float
    """The same of B."""
    spread: float
    """The greatest difference between the repeats of a side; 0: equal."""

    @property
    def smallest(self) -> float:
        """The smallest change that counts."""
        if not self.spread:
            return MIN_CHANGE
        return max(SPREADS * self.spread, MIN_SHARE * max(self.a, self.b))

    @property
    def answer(self) -> CallsAnswer:
        """What it says of B."""
        if self.spread > MAX_SPREAD * max(self.a, self.b):
            return "does not repeat here"
        if abs(self.b - self.a) < self.smallest - 1e-9:
            return "does the same"
        return "does more" if self.b > self.a else "does less"


@dataclass(frozen=True, slots=True)
class CallsVerdict:
    """What B does per page, beside A."""

    answer: CallsAnswer
    differences: tuple[Difference, ...]
    functions: tuple[tuple[str, float, float], ...]
    """Functions and system calls with the greatest changes: name, counts per page of A and of B."""
    lacks: dict[str, str]
    """What could not be counted, with the reason."""
    versions: tuple[str, str]
    """The interpreters of A and B."""


def judge(made: Sequence[Counts]) -> CallsVerdict:
    """Compare the rows of both sides. Different interpreters make and see different calls, and are not gated."""
    a, b = ([row for row in made if side_of(row) == side] for side in SIDES)
    versions = version(a[0]), version(b[0])
    is_gated = versions[0] == versions[1]
    pages = a[0].measured.pages or 1
    differences = []
    for counter in get_args(CounterName):
        totals = totals_of(a, counter), totals_of(b, counter)
        if all(totals) and (is_gated or counter != "bytecodes"):
            before, after = (fmean(each) / pages for each in totals)
            spread = max(max(each) - min(each) for each in totals)
            differences.append(Difference(counter, before, after, spread / pages))
    lacks = {f"{name} of {side_of(row)}": why for row in made for name, why in (row.measured.lacks or {}).items()}
    answer = verdict(differences) if is_gated else "compared, not gated"
    functions = changed(a, b, [each.counter for each in differences])
    return CallsVerdict(answer, tuple(differences), tuple(functions), lacks, versions)


def side_of(row: Counts) -> str:
    """Return the side of a row: A or B."""
    return row.workload.arm.name if row.workload.arm else ""


def version(row: Counts) -> str:
    """Return the version of the interpreter of a row, with a t if it is free-threaded."""
    return f"{row.knobs.python}{'t' if row.knobs.free_threaded else ''}"


def totals_of(many: Sequence[Counts], counter: Any) -> list[int]:
    """Return the totals of all repeats of a side; none if one has none."""
    totals = [(row.measured.totals or {}).get(counter) for row in many]
    return [] if None in totals else list(chain.from_iterable(filter(None, totals)))


def verdict(differences: Sequence[Difference]) -> CallsAnswer:
    """Return what B does: more, if it makes more calls, of Python and C functions together, or more system calls.

    Where these are level, Python calls decide, and bytecodes. Nothing is decided where calls could not be counted.
    """
    by_counter = {each.counter: each for each in differences}
    if not {"python_calls", "c_calls"} <= by_counter.keys():
        return "does not repeat here"
    of_python = by_counter["python_calls"]
    of_c = by_counter["c_calls"]
    calls = Difference("calls", of_python.a + of_c.a, of_python.b + of_c.b, of_python.spread + of_c.spread)
    for group in ((calls, by_counter.get("system_calls")), (of_python, by_counter.get("bytecodes"))):
        answers = {each.answer for each in group if each is not None}
        for answer in BY_WEIGHT:
            if answer in answers:
                return answer
    return "does the same"


def changed(a: Sequence[Counts], b: Sequence[Counts], compared: Sequence[str]) -> list[tuple[str, float, float]]:
    """Return the functions and system calls whose counts changed most, of equal ones Python functions first."""
    of_a = by_name(a, compared)
    of_b = by_name(b, compared)
    changes = {name: abs(of_b[name] - of_a[name]) for name in {*of_a, *of_b}}
    names = [name for name, change in changes.items() if change >= MIN_SHOWN]
    names.sort(key=lambda name: (-changes[name], name.startswith("<"), name))  # functions in C have such names
    return [(name, of_a[name], of_b[name]) for name in names[:MAX_FUNCTIONS]]


def by_name(many: Sequence[Counts], compared: Sequence[str]) -> dict[str, float]:
    """Return the mean counts per page of a side by the names of functions and system calls."""
    sums: defaultdict[str, float] = defaultdict(float)
    for counter in compared:
        prefix = "system call " if counter == "system_calls" else ""
        for row in many:
            for name, count in (getattr(row.measured, counter, None) or {}).items():
                sums[prefix + name] += count / len(many)
    return sums


def stored_section(many: Sequence[Row]) -> Section | None:
    """Return the verdict on the rows of a comparison by counts; None if a side has no valid one."""
    made = [row for row in many if isinstance(row, Counts) and row.is_compared and row.valid]
    has_both = {side_of(row) for row in made} == set(SIDES)
    return section(made) if has_both else None


def section(made: Sequence[Counts]) -> Section:
    """Return the verdict: what was compared, each counter, and the functions whose counts changed most."""
    result = judge(made)
    texts = TEXTS["counts_ab"]
    labels = {arm.name: arm.label for row in made if (arm := row.workload.arm)}
    sides = [f"{name}: {words.plain(labels[name], 200)}" for name in SIDES]
    heads = ("per page", "A", "B", "change", "repeats", "counts from", "")
    lines = [
        (
            figure_of(f"{each.counter}_per_page").words,
            f"{each.a:,.4g}",
            f"{each.b:,.4g}",
            f"{each.b - each.a:+,.4g}",
            f"differ by {units.number(each.spread, 2)}" if each.spread else "equal",
            units.number(each.smallest, 2),
            each.answer,
        )
        for each in result.differences
    ]
    functions = [
        (words.plain(name, 90), f"{before:,.4g}", f"{after:,.4g}", f"{after - before:+,.4g}")
        for name, before, after in result.functions
    ]
    tables = [
        Table("", heads, tuple(lines)),
        Table("Greatest changes", ("calls per page", "A", "B", "change"), tuple(functions)),
    ]
    title = f"B {result.answer}"
    notes = [f"Not counted here: {name}, {words.plain(why, 200)}." for name, why in result.lacks.items()]
    if result.answer == "compared, not gated":
        title = "Compared, not gated"
        notes.append(texts["versions"].format(*result.versions))
    notes.append(texts["no_time"])
    return Section(title, tuple(table for table in tables if table.lines), tuple(notes), tuple(sides))


def to_json(result: CallsVerdict) -> dict[str, Any]:
    """Return the verdict as JSON values; counts are per page."""
    return {
        "verdict": result.answer,
        "counters": {each.counter: asdict(each) | {"answer": each.answer} for each in result.differences},
        "functions": [dict(zip(("name", "a", "b"), each, strict=True)) for each in result.functions],
        "lacks": result.lacks,
        "versions": list(result.versions),
    }
