"""The results of a run for programs and notebooks: rows, tidy tables and plots (``docs/api.md``).

Names without an underscore are stable. pandas and matplotlib are imported when a table or a plot is first used.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inflight.bench.plan import judge
from inflight.bench.present import words
from inflight.bench.report import tidy
from inflight.bench.report.tidy import NotInRunError
from inflight.bench.rows.files import Row

ASKED = {"crawl", "arm", "memory", "swarm"}
"""The kinds of trials in which a strategy crawls."""

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, repr=False)
class Results:
    """The results of a run: its rows, tidy tables of them, and plots.

    ``folder`` is its folder, ``rows`` has one row per trial, in the order in which they ended, and ``machine`` the
    values of ``machine.json``. Each table is a new pandas DataFrame that you may change; missing values are
    ``pandas.NA``. Each plot is drawn onto ``ax`` only, or, by default, into a new figure that pyplot does not know; the
    figure is returned. Tables include invalid trials; see the columns ``valid``.
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
        names = [strategies] if isinstance(strategies, str) else strategies
        wanted = {"latency": latency, "in_flight": in_flight, "connection": connection, "cpu": cpu}
        chosen = self.rows if names is None else _having(self.rows, "strategy", set(names))
        for what, value in wanted.items():
            chosen = chosen if value is None else _having(chosen, what, {value})
        return replace(self, rows=[row for row in chosen if keep is None or keep(row)])

    @property
    def frame(self) -> "pd.DataFrame":
        """One line for each trial and figure.

        ``run``, ``unit`` (the run and the round; values of one unit are compared as pairs), ``kind``, ``trial``,
        ``workload``, ``strategy``, ``arm`` (the strategy, with the settings in which arms of that name differ),
        ``role`` (``reference``, ``placebo``, ``compared``, or empty), ``reference`` (the reference arm of the block),
        ``stack``, ``interpreter``, ``cores``, ``latency``, ``latency_ns``, ``cpu``, ``cpu_ns``, ``in_flight``,
        ``rate_per_s``, ``connection``, ``site`` (JSON), ``site_pages``, ``length``, ``comparison``, ``valid``, ``why``
        (why it is not valid), ``figure`` (a name such as ``pages_per_s``), ``value`` (in the unit of its name).
        """
        return tidy.frame(self._lines)

    @property
    def trials(self) -> "pd.DataFrame":
        """One line for each trial, with a column for each figure: the frame, unstacked; the table in ``rows.csv``.

        Columns: those of ``frame`` up to ``why``, ``round``, ``status``, ``cause``, ``started_at``, ``settings``, and
        the figures. Durations in nanoseconds (``_ns``), sizes in bytes (``_bytes``), shares from 0 to 1.
        """
        return tidy.trials(self.rows)

    def table(self, study: str) -> "pd.DataFrame":
        """Return a study by its name, such as ``"throughput"``: one line for each line and column of its table.

        ``part``, ``line``, the columns of the study, such as ``latency`` and ``in_flight``; ``estimate`` (the geometric
        mean of its figure over the valid units), ``low``, ``high`` (the 95 % interval), ``n`` (units), ``valid``
        (false: of invalid trials). With an axis: ``ratio_baseline``, ``ratio_estimate``, ``ratio_low``, ``ratio_high``,
        ``ratio_n``, ``ratio_p``, ``ratio_answer`` (``differs``, ``same`` or ``unknown``). Raises NotInRunError for an
        unknown name.
        """
        return tidy.study_table(study, self._wide)

    @property
    def moments(self) -> "pd.DataFrame":
        """One line for each trial, moment and figure over time.

        The columns of ``trials`` up to ``settings``, then ``at_ns`` (since the trial began), ``figure``, ``value``.
        Figures: ``in_flight`` and ``completions`` of crawls in bins, at their ends; ``threads``, ``rss_bytes`` and
        ``cpu_ns``, seen from outside; ``window_cpu_per_page_ns`` of an arm; ``waiting`` of an open loop; ``held`` and
        ``used_bytes`` of a swarm; ``found`` of a limit.
        """
        return tidy.moments(self.rows)

    @property
    def checks(self) -> "pd.DataFrame":
        """One line for each validity check of each trial.

        ``trial``, ``strategy``, ``kind``, ``round``, ``valid``; ``name``, ``verdict`` (``passed``, ``failed`` or ``not
        applicable``), ``detail``.
        """
        return tidy.checks(self.rows)

    def plot(self, study: str, ax: "Axes | None" = None) -> "Figure":
        """Plot one panel of a study by its name, such as ``"throughput"``; its title names the workload.

        Of several numbers in flight it is the one nearest to 100, of several latencies the shortest. Raises
        NotInRunError for an unknown name, and if the run has nothing for the study.
        """
        from inflight.bench.report.studies import Studies
        from inflight.bench.show.pictures import draw_onto

        tidy.study_of(study)
        for picture in Studies(self.rows).pictures(only={tidy.MEMORY if study == tidy.LADDER else study}):
            if picture.name == study:
                return draw_onto(picture, ax)
        raise NotInRunError(f"nothing for the study {words.plain(study, 40)!r} in this run")

    def summary(self) -> dict[str, Any]:
        """Return the figures as JSON values, as ``inflight run --json`` prints them."""
        from inflight.bench.report.summary import summary_json

        return summary_json(self.rows)

    def answer(self) -> list[str]:
        """Return the findings in a few sentences."""
        from inflight.bench.report.answer import answer
        from inflight.bench.report.studies import Studies

        return answer(Studies(self.rows))

    def report(self, path: "str | PathLike[str] | None" = None) -> Path:
        """Write the page of the whole run, by default ``report.html`` in its folder, and return its path."""
        from inflight.bench.show import page as report_page

        return report_page.write(self.folder, None if path is None else Path(path))

    @cached_property
    def _wide(self) -> "pd.DataFrame":
        from inflight.bench.frame.frame import trials

        return trials(self.rows)

    @cached_property
    def _lines(self) -> "pd.DataFrame":
        from inflight.bench.frame.frame import long

        return long(self._wide)


def _having(rows: Iterable[Row], what: str, wanted: Collection[object]) -> list[Row]:
    """Return the rows with one of the values. Raises NotInRunError for a value that no row has."""
    found = [(row, _value(row, what)) for row in rows]
    known = {value for _, value in found} - {None}
    for value in wanted:
        if value not in known:
            near = judge.nearest(str(value), sorted(map(str, known), key=lambda text: (len(text), text)))
            raise NotInRunError(words.plain(f"no trial here has {what} {value!r}{near}"))
    return [row for row, value in found if value in wanted]


def _value(row: Row, what: str) -> object:
    """Return a value of the workload of a trial in which a strategy crawls; None for other trials."""
    if what == "strategy":
        return row.strategy
    found = getattr(row.workload, what, None) if row.kind in ASKED else None
    return "0" if found is None and what == "cpu" and row.kind in ASKED else found
