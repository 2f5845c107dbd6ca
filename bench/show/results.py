"""The results of a run for programs and notebooks: rows, tables and plots (``docs/api.md``).

``api.load`` and ``api.run`` return a ``Results``; ``report --format json`` and ``csv`` print it. Names without an
underscore are stable. pandas and matplotlib are imported when a table or a plot is first used. The tables are those of
``studies`` and ``frame``, each column with one type in every run.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inflight.bench.plan import judge
from inflight.bench.rows.files import FORMAT, Row
from inflight.bench.show import words
from inflight.bench.show.words import NotInRunError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from inflight.bench.show.studies import Studies

_WHOLE = (
    "cores",
    "latency_ns",
    "cpu_ns",
    "in_flight",
    "site_pages",
    "length",
    "round",
    "at_ns",
    "n",
    "ratio_n",
)
"""Columns of whole numbers."""
_RATIO = ("estimate", "low", "high", "next_low", "next_high", "p", "resolution")
"""Columns of a ratio, as ``contrast`` calls them."""
_REAL = (
    "rate_per_s",
    "value",
    "estimate",
    "low",
    "high",
    "intercept",
    *(f"ratio_{name}" for name in _RATIO),
)
"""Columns of other numbers."""
_TYPES = (
    dict.fromkeys(("valid", "is_straight"), "boolean")
    | dict.fromkeys((*_WHOLE, "points", "sizes"), "Int64")
    | dict.fromkeys(_REAL, "Float64")
)
"""The type of each column that is no text, in every run."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet read a cell as a formula."""


@dataclass(frozen=True, repr=False)
class Results:
    """The results of a run: its rows, tidy tables of them, and plots.

    ``folder`` is its folder, ``rows`` has one row per trial, in the order in which they ended, and ``machine`` the
    values of ``machine.json``. Each table is a new pandas DataFrame that you may change; missing values are
    ``pandas.NA``; docs/api.md has the columns. Each plot is drawn onto ``ax`` only, or, by default, into a new figure
    that pyplot does not know; the figure is returned. Tables include invalid trials; see the columns ``valid``.
    """

    folder: Path
    rows: list[Row]
    machine: dict[str, Any]

    def __repr__(self) -> str:
        valid = sum(row.valid for row in self.rows)
        hint = "" if valid or not self.rows else "; answer() says why"
        return f"<Results of {words.plain(self.folder.name)}: {len(self.rows)} trials, {valid} valid{hint}>"

    def only(
        self,
        *,
        strategies: str | Iterable[str] | None = None,
        latency: str | None = None,
        in_flight: int | None = None,
        connection: str | None = None,
        cpu: str | None = None,
        keep: Callable[[Row], bool] | None = None,
    ) -> "Results":
        """Return the results of those rows that have all of these values and for which ``keep`` is true.

        Raises NotInRunError for a value that no row has.
        """
        names = {strategies} if isinstance(strategies, str) else set(strategies or ())
        wanted = {"latency": latency, "in_flight": in_flight, "connection": connection, "cpu": cpu}
        chosen = self.rows if strategies is None else _having(self.rows, "strategy", names)
        for what, value in wanted.items():
            if value is not None:
                chosen = _having(chosen, what, {value})
        return replace(self, rows=[row for row in chosen if keep is None or keep(row)])

    @property
    def frame(self) -> "pd.DataFrame":
        """One line for each trial and figure: ``figure`` is its name, ``value`` is in the unit of its name."""
        from inflight.bench.frame.frame import KEYS

        return _typed(self._studies.lines, [*KEYS, "valid", "why", "figure", "value"])

    @property
    def trials(self) -> "pd.DataFrame":
        """One line for each trial, with a column for each figure: the frame, unstacked; the table in ``rows.csv``.

        Durations in nanoseconds (``_ns``), sizes in bytes (``_bytes``), shares from 0 to 1. Figures are ``Int64`` if
        all their values are whole, else ``Float64``.
        """
        return _typed_trials(self._studies.trials)

    def table(self, study: str) -> "pd.DataFrame":
        """Return a study by its name, such as ``"throughput"``: one line for each line and column of its table.

        Raises NotInRunError for an unknown name.
        """
        from inflight.bench.show.studies import study_of

        table = self._studies.table(study)
        is_listed = study_of(study).measure == "median"
        return table.convert_dtypes() if is_listed else _typed(table, list(map(str, table)))

    @property
    def moments(self) -> "pd.DataFrame":
        """One line for each trial, moment and figure over time; ``at_ns`` is since the trial began."""
        from inflight.bench.frame.frame import KEYS, OF_TRIAL, moments

        return _typed(
            moments(self.rows, self._studies.trials),
            [
                *KEYS,
                *OF_TRIAL,
                "at_ns",
                "figure",
                "value",
            ],
        )

    @property
    def checks(self) -> "pd.DataFrame":
        """One line for each validity check of each trial; ``verdict``: passed, failed or not applicable."""
        import pandas as pd

        of_row = ("trial", "strategy", "kind", "round", "valid")
        of_check = ("name", "verdict", "detail")
        lines = [
            [*(getattr(row, name) for name in of_row), *(getattr(check, name) for name in of_check)]
            for row in self.rows
            for check in row.checks
        ]
        names = ["trial", "strategy", *of_row[2:], *of_check]
        return _typed(pd.DataFrame(lines, columns=names), names)

    def plot(self, study: str, ax: "Axes | None" = None) -> "Figure":
        """Plot one panel of a study by its name, such as ``"throughput"``; its title names the workload.

        Of several numbers in flight it is the one nearest to 100, of several latencies the shortest; of ``throughput``
        the longest. Raises NotInRunError for an unknown name, and if the run has nothing for the study.
        """
        from inflight.bench.show.pictures import draw_onto
        from inflight.bench.show.studies import study_of

        for picture in self._studies.pictures(only={study_of(study).name}):
            if picture.name == study:
                return draw_onto(picture, ax)
        raise NotInRunError(f"nothing for the study {words.plain(study, 40)!r} in this run")

    def csv(self) -> str:
        """Return the trials as CSV with a header line. No spreadsheet reads a text of it as a formula."""
        return csv(self._studies.trials)

    def summary(self) -> dict[str, Any]:
        """Return the figures as JSON values, as ``inflight run --json`` prints them (docs/api.md)."""
        return as_json(self._studies)

    def answer(self) -> list[str]:
        """Return the answer in a few sentences: the state of the machine, what decides, and how many trials count."""
        from inflight.bench.show.answer import answer_of
        from inflight.bench.show.summary import coverage

        answer = answer_of(self._studies)
        return [*answer.state, *answer.sentences, coverage(self.rows)]

    def report(self, path: "str | PathLike[str] | None" = None) -> Path:
        """Write the page of the whole run, by default ``report.html`` in its folder, and return its path."""
        from inflight.bench.show import page as report_page

        return report_page.write(self.folder, None if path is None else Path(path))

    @cached_property
    def _studies(self) -> "Studies":
        """All studies of the rows, computed once."""
        from inflight.bench.show.studies import Studies

        return Studies(self.rows, self.folder)


def as_json(studies: "Studies") -> dict[str, Any]:
    """Return a run as JSON values, as ``Results.summary`` does."""
    from inflight.bench.show.answer import answer_of

    counted = (row for row in studies.rows if row.HAS_STRATEGY and not row.is_compared)
    stacks = {row.arm: row.stack for row in counted}
    shared_first = sorted(stacks.items(), key=lambda item: (item[1] != "shared", item[0]))
    return {
        "format": FORMAT,
        "runs": sorted({row.run for row in studies.rows}),
        "trials": {
            "planned": len(studies.rows),
            "valid": sum(row.valid for row in studies.rows),
            "by_status": dict(sorted(Counter(row.status for row in studies.rows).items())),
        },
        "strategies": [
            {
                "strategy": name,
                "stack": stack,
                "trials": sum(row.arm == name for row in studies.rows),
                "valid": sum(row.arm == name and row.valid for row in studies.rows),
            }
            for name, stack in shared_first
        ],
        "answer": answer_of(studies).as_json(),
        **studies.as_json(),
        "invalid": [
            {"trial": row.trial, "strategy": row.arm, "status": row.status, "reason": row.reason}
            | {"failed_checks": [{"name": check.name, "detail": check.detail} for check in row.failed_checks]}
            for row in studies.rows
            if not row.valid
        ],
    }


def _typed(table: "pd.DataFrame", names: list[str]) -> "pd.DataFrame":
    """Return some columns in order, each with the type that its name always has."""
    return table.reindex(columns=names).astype({name: _TYPES.get(name, "string") for name in names})


def _typed_trials(trials: "pd.DataFrame") -> "pd.DataFrame":
    """Return trials with the types of their columns."""
    from inflight.bench.frame.frame import KEYS, OF_TRIAL

    types = {name: _TYPES.get(name, "string") for name in (*KEYS, *OF_TRIAL)}
    return trials.astype(types).convert_dtypes()


def csv(trials: "pd.DataFrame") -> str:
    """Return trials as CSV, as ``Results.csv`` does."""
    table = _typed_trials(trials)
    for name, kind in table.dtypes.items():
        if kind == "string":
            table[name] = table[name].map(_harmless, na_action="ignore")
    return table.to_csv(index=False, lineterminator="\n")


def _harmless(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would evaluate.

    See https://owasp.org/www-community/attacks/CSV_Injection. A carriage return becomes a line feed: it would not be
    quoted, and readers would take it as the end of a line.
    """
    return f"{chr(39) if text.startswith(_FORMULA) else ''}{text}".replace("\r", "\n")


def _having(rows: Iterable[Row], what: str, wanted: Collection[object]) -> list[Row]:
    """Return the rows with one of the values. Raises NotInRunError for a value that no row has."""
    values = [(row, _value(row, what)) for row in rows]
    known = {value for _, value in values} - {None}
    for value in wanted:
        if value not in known:
            texts = sorted(sorted(map(str, known)), key=len)
            near = judge.nearest(str(value), texts)
            raise NotInRunError(words.plain(f"no trial here has {what} {value!r}{near}"))
    return [row for row, value in values if value in wanted]


def _value(row: Row, what: str) -> object:
    """Return a value of the workload of a trial in which a strategy crawls; None for other trials."""
    if what == "strategy":
        return row.arm
    if not row.HAS_STRATEGY:
        return None
    value = getattr(row.workload, what, None)
    if what == "connection":  # as the frame has it; a swarm has no TLS
        value = getattr(row.workload, "connections", value)
    return "0" if value is None and what == "cpu" else value
