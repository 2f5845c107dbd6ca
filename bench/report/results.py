"""The results of a run for programs and notebooks: rows, tidy tables and plots (``docs/api.md``).

Names without an underscore are stable. pandas and matplotlib are imported when a table or a plot is first used.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from inflight.bench.core import cells as c
from inflight.bench.plan import judge
from inflight.bench.present import words
from inflight.bench.report import onto_axes, tidy
from inflight.bench.report.tidy import NotInRunError
from inflight.bench.rows.files import Row

ASKED = c.CRAWLED | {"swarm"}
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
    def trials(self) -> "pd.DataFrame":
        """One line per trial, with the columns of ``rows.csv`` (explained in ``results/README.md``).

        Durations in nanoseconds (``_ns``), sizes in bytes (``_bytes``), shares from 0 to 1; types as inferred by
        pandas.
        """
        from inflight.bench.report.frames import frame

        return frame(self.rows)

    @property
    def cells(self) -> "pd.DataFrame":
        """One line for each strategy on each crawl workload: the mean over the valid rounds, and its 95 % interval.

        ``strategy``, ``stack``, ``workload``, ``latency``, ``mean_latency_ns``, ``in_flight``, ``connection``, ``cpu``,
        ``cpu_ns``; ``pages_per_s``, ``pages_per_s_low``, ``pages_per_s_high`` (verified pages per second);
        ``cpu_per_page_ns``, ``cpu_per_page_ns_low``, ``cpu_per_page_ns_high``; ``rounds`` (number of rounds),
        ``valid`` (false: no valid trial; the figures, if any, are of invalid ones); ``sensitivity_low``,
        ``sensitivity_high`` (of throughput to CPU time, 0 to 1); ``site`` (JSON).
        """
        return self._table("cells")

    @property
    def memory(self) -> "pd.DataFrame":
        """One line for each slope of memory over the number held, of each strategy or idle task, and each layer.

        ``strategy``, ``stack``, ``group``, ``connection``, ``layer``; ``bytes_per_fetch``, ``bytes_per_fetch_low``,
        ``bytes_per_fetch_high`` (the interval of 95 %; the range where the line is bent), ``intercept_bytes``;
        ``straight`` (false: the line is bent), ``points`` (trials), ``sizes`` (numbers in flight); ``reason`` (why
        there is no slope); ``site`` (JSON).
        """
        return self._table("memory")

    @property
    def timeline(self) -> "pd.DataFrame":
        """One line for each 10 ms of each crawl.

        ``trial``, ``strategy``, ``kind``, ``latency``, ``in_flight``, ``connection``, ``cpu``, ``round``, ``valid``;
        ``at_ns`` (the end of the 10 ms, since the crawl began), ``completions`` (pages within them),
        ``in_flight_then`` (fetches in flight at their end).
        """
        return self._table("timeline")

    @property
    def samples(self) -> "pd.DataFrame":
        """One line for each sample of a crawling worker from outside: at most 200 per trial; none in older runs.

        ``trial``, ``strategy``, ``kind``, ``latency``, ``in_flight``, ``connection``, ``cpu``, ``round``, ``valid``;
        ``at_ns`` (since the crawl was ordered), ``threads``, ``rss_bytes``, ``cpu_ns`` (since the crawl began).
        """
        return self._table("samples")

    @property
    def checks(self) -> "pd.DataFrame":
        """One line for each validity check of each trial.

        ``trial``, ``strategy``, ``kind``, ``latency``, ``in_flight``, ``connection``, ``cpu``, ``round``, ``valid``;
        ``name``, ``verdict`` (``passed``, ``failed`` or ``not applicable``), ``detail``.
        """
        return self._table("checks")

    @property
    def times(self) -> "pd.DataFrame":
        """One line for each kind of time of each crawl: its quantiles, by nearest rank.

        ``trial``, ``strategy``, ``kind``, ``latency``, ``in_flight``, ``connection``, ``cpu``, ``round``, ``valid``;
        ``time`` (``service``, ``response``, ``queueing``, and ``steady_service``, ``steady_response`` from when the
        cap was reached on); ``count``, ``mean_ns``, ``min_ns``, ``p50_ns``, ``p90_ns``, ``p99_ns``, ``p999_ns``,
        ``max_ns``.
        """
        return self._table("times")

    def plot_throughput(self, latency: str | None = None, ax: "Axes | None" = None) -> "Figure":
        """Plot pages per second over the number in flight (both logarithmic) at one latency, such as ``"50ms"``.

        By default the longest. Points are means, bars their 95 % intervals; hollow points are invalid trials.
        """
        with onto_axes.drawing(ax) as axes:
            onto_axes.throughput(self.rows, latency, axes)
        return onto_axes.figure_of(axes)

    def plot_cpu(self, latency: str | None = None, in_flight: int | None = None, ax: "Axes | None" = None) -> "Figure":
        """Plot CPU time per page of one workload; of whole crawls, user and system time.

        By default at the shortest latency, with the number in flight nearest to 100.
        """
        with onto_axes.drawing(ax) as axes:
            onto_axes.cpu(self.rows, latency, in_flight, axes)
        return onto_axes.figure_of(axes)

    def plot_times(
        self,
        kind: Literal["service", "response"] = "service",
        latency: str | None = None,
        in_flight: int | None = None,
        ax: "Axes | None" = None,
    ) -> "Figure":
        """Plot the share of fetches (0 to 1) that take longer than a time, over that time, all valid rounds together.

        By default at the longest latency, with the most in flight that most strategies were tried with.
        """
        with onto_axes.drawing(ax) as axes:
            onto_axes.times(self.rows, kind, latency, in_flight, axes)
        return onto_axes.figure_of(axes)

    def plot_memory(self, ax: "Axes | None" = None) -> "Figure":
        """Plot the memory of one more fetch in flight, thread or task (kB), layer by layer."""
        with onto_axes.drawing(ax) as axes:
            onto_axes.memory(self.rows, axes)
        return onto_axes.figure_of(axes)

    def plot_ladder(self, ax: "Axes | None" = None) -> "Figure":
        """Plot memory added over the number of fetches held in flight (both logarithmic), with the fitted lines."""
        with onto_axes.drawing(ax) as axes:
            onto_axes.ladder(self.rows, axes)
        return onto_axes.figure_of(axes)

    def plot_map(self, in_flight: int, ax: "Axes | None" = None) -> "Figure":
        """Plot the fastest model over added latency and CPU work per page, at one number in flight."""
        with onto_axes.drawing(ax) as axes:
            onto_axes.decision_map(self.rows, in_flight, axes)
        return onto_axes.figure_of(axes)

    def summary(self) -> dict[str, Any]:
        """Return the figures as JSON values, as ``inflight run --json`` prints them."""
        from inflight.bench.report.summary import summary_json

        return summary_json(self.rows)

    def answer(self) -> list[str]:
        """Return the findings in a few sentences."""
        from inflight.bench.report.answer import answer

        return answer(self.rows)

    def report(self, path: "str | PathLike[str] | None" = None) -> Path:
        """Write the page of the whole run, by default ``report.html`` in its folder, and return its path."""
        from inflight.bench.report import page as report_page

        return report_page.write(self.folder, None if path is None else Path(path))

    def _table(self, name: str) -> "pd.DataFrame":
        if name not in self._made:
            self._made[name] = tidy.table(name, self.rows)
        return self._made[name].copy()

    @cached_property
    def _made(self) -> "dict[str, pd.DataFrame]":
        return {}


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
