"""A listing is a study of several figures of each trial: a table with a line for each strategy and workload.

Figures are medians over the valid trials of a line. Its plots have bars, a panel for each figure, or lines over time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import pandas as pd

from inflight.bench.frame.contrast import contrast
from inflight.bench.frame.figures import figure_of
from inflight.bench.frame.frame import KEYS, OF_TRIAL
from inflight.bench.show import words
from inflight.bench.show.parts import split
from inflight.bench.show.study import STACKS
from inflight.bench.show.table import Section, Table
from inflight.bench.show.words import join, short_name, value_name, value_words

MAX_COLUMNS = 5
"""Maximum number of arms beside each other in a table whose lines are figures."""
MAX_TEXT = 40
"""Maximum length of a text that is measured and has a cell; a longer one is in the rows only."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A table of figures."""

    name: str
    title: str
    """A noun phrase."""
    select: str
    """A query on the trials."""
    figures: tuple[str, ...] = ()
    """Its columns; by default, every number that was measured."""
    keys: tuple[str, ...] = ()
    """The keys in which lines of one arm differ."""
    texts: tuple[str, ...] = ()
    """Texts that have a column."""
    below: str = ""
    """A text of each line that stands below the table."""
    order: str = ""
    """The figure by which lines are ordered, the best first; by default, lines are ordered by their keys."""
    finding: Literal["", "ranked", "rate_kept", "reached"] = ""
    """Which of FINDINGS it has."""
    bars: tuple[str, ...] = ()
    """Figures that are drawn as bars, each in a panel."""
    over_time: tuple[str, ...] = ()
    """Figures of ``frame.moments`` that are drawn over time, each in a panel."""
    is_largest: bool = False
    """Whether only trials with the most in flight count: of each arm, if that is a key, else of the part."""
    is_turned: bool = False
    """Whether the table has a line for each figure, and a column for each arm."""
    is_timed: bool = False
    """Whether its findings compare times."""
    note: str = ""


@dataclass(frozen=True)
class Part:
    """The lines of a listing that differ in nothing but its keys."""

    listing: Listing
    name: str
    lines: pd.DataFrame
    """A line for each arm and value of the keys: ``arm``, the keys, ``stack``, ``valid``, figures and texts."""
    trials: pd.DataFrame
    """The trials behind them (``frame.trials``)."""

    @property
    def figures(self) -> list[str]:
        """The figures that some trial of the part has."""
        measured = map(str, self.lines.select_dtypes("number"))
        wanted = self.listing.figures or [name for name in measured if name not in {*self.listing.keys, "valid"}]
        return [name for name in wanted if name in self.lines and self.lines[name].notna().any()]

    @cached_property
    def findings(self) -> list[str]:
        """The findings of the part."""
        return list(FINDINGS[self.listing.finding](self)) if self.listing.finding else []


def parts(listing: Listing, trials: pd.DataFrame) -> list[Part]:
    """Return the parts of a listing, the one with the most lines first; empty if there is no such trial."""
    rows = trials.query(listing.select) if len(trials) else trials
    rows = rows[rows["comparison"] == ""]
    if rows.empty:
        return []
    used = {"arm", *listing.keys, *(["in_flight"] if listing.is_largest else [])}
    many = [_part(listing, name, group) for name, group in split(rows, used) if _is_shown(listing, group)]
    return sorted(many, key=lambda part: -len(part.lines))


def _is_shown(listing: Listing, trials: pd.DataFrame) -> bool:
    """Return whether the largest number was held again, or was the only one: else it is one of the sizes of a slope."""
    sizes = trials["in_flight"]
    if not listing.order or not listing.is_largest or sizes.min() == sizes.max():
        return True
    return bool(trials.loc[sizes == sizes.max(), "arm"].duplicated().any())


def _part(listing: Listing, name: str, trials: pd.DataFrame) -> Part:
    if listing.is_largest:
        alike = trials.groupby("arm") if "in_flight" in listing.keys else trials.groupby("kind")
        trials = trials[trials["in_flight"] == alike["in_flight"].transform("max")]
    keys = ["arm", *listing.keys]
    has_valid = trials.groupby(keys)["valid"].transform("any")
    counted = trials[trials["valid"] | ~has_valid]
    wanted = {*listing.figures, *listing.texts, listing.below, listing.order} if listing.figures else set(counted)
    measured = [name for name in counted if name in wanted and name not in {*KEYS, *OF_TRIAL}]
    numbers = [name for name in counted[measured].select_dtypes("number") if counted[name].notna().any()]
    groups = counted.groupby(keys, sort=False)
    texts = ["stack", "valid", *(name for name in measured if name not in numbers)]
    lines = groups[texts].first().join(groups[numbers].median()).reset_index()
    if listing.keys:
        lines = lines.sort_values(keys)
    elif listing.order in lines:
        lines = _ranked(listing, lines)
    return Part(listing, name, lines.reset_index(drop=True), trials)


def _ranked(listing: Listing, lines: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of the shared stack first, then the best first."""
    sign = -1 if figure_of(listing.order).is_more_better else 1
    ranks = lines.assign(rank=lines["stack"].map(STACKS), by=sign * lines[listing.order])
    return ranks.sort_values(["rank", "by", "arm"])[list(lines)]


def line_name(listing: Listing, line: Any) -> str:
    """Return what a line is called: its arm, and the values of its keys."""
    keys = (value_name(key, line[key]) for key in listing.keys)
    return join(", ", words.name(line["arm"]), *keys)


def section(parts: Sequence[Part]) -> Section:
    """Return the tables of the parts of a listing, at least one, and its findings."""
    tables = [table for part in parts for table in _tables(part)]
    notes = tuple(filter(None, [parts[0].listing.note]))
    return Section("", tuple(tables), notes, findings=tuple(parts[0].findings))


def _tables(part: Part) -> Iterator[Table]:
    listing = part.listing
    title = join(", ", listing.title, part.name)
    names = part.figures
    keys = [key for key in listing.keys if part.lines[key].astype(bool).any()]
    texts = [name for name in listing.texts if name in part.lines and part.lines[name].notna().any()]
    lines = [dict(zip(part.lines, values, strict=True)) for values in part.lines.itertuples(index=False)]
    heads = [*map(value_words, keys), *(figure_of(name).words for name in names)]
    heads += [name.removesuffix("_name").replace("_", " ") for name in texts]
    cells = [
        (
            f"{words.name(line['arm'])}{'' if line['valid'] else ' ✗'}",
            *(short_name(key, line[key]) for key in keys),
            *(_cell(name, line[name]) for name in names),
            *(words.plain(line[name], MAX_TEXT) if isinstance(line[name], str) else "-" for name in texts),
        )
        for line in lines
    ]
    below = [f"{line_name(listing, line)}: {words.plain(line[listing.below], 300)}." for line in lines
             if listing.below in line and isinstance(line[listing.below], str)]  # fmt: skip
    notes = (*below, *([words.TEXTS["signs"]["✗"]] if any(line[0].endswith("✗") for line in cells) else ()))
    if not listing.is_turned:
        yield Table(title, ("", *heads), tuple(cells), notes)
        return
    for first in range(0, len(cells), MAX_COLUMNS):
        some = cells[first : first + MAX_COLUMNS]
        turned = [line for line in zip(heads, *(line[1:] for line in some), strict=True) if set(line[1:]) - {"-", ""}]
        yield Table(title, ("", *(line[0] for line in some)), tuple(turned), notes if not first else ())


def _cell(name: str, value: float) -> str:
    return "-" if pd.isna(value) else figure_of(name).write(value, 2)


def as_frame(listing: Listing, parts: Sequence[Part]) -> pd.DataFrame:
    """Return one line for each line of the tables: ``part``, ``line``, the keys, ``valid``, figures and texts."""
    texts = [*listing.texts, *([listing.below] if listing.below else [])]
    tables = [
        part.lines.assign(part=part.name, line=part.lines["arm"].map(words.name)).reindex(
            columns=["part", "line", *listing.keys, "valid", *(listing.figures or part.figures), *texts]
        )
        for part in parts
    ]
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


# Findings


def ranked(part: Part) -> Iterator[str]:
    """Say which line has the best of the figure that orders them, if it differs from all others that held as many."""
    listing = part.listing
    lines = part.lines[part.lines["valid"].astype(bool)]
    if listing.order not in lines:
        return
    lines = lines[lines[listing.order].notna()]
    lines = lines[lines["held_in_flight"] == lines["held_in_flight"].max()]
    shared = lines[lines["stack"] == "shared"]
    lines = _ranked(listing, shared if len(shared) > 1 else lines)
    figure = figure_of(listing.order)
    ends = [figure.write(line[listing.order], 2) for _, line in lines.iterrows()]
    if not ends:
        return
    if len(lines) == 1 or _is_first(part, lines):
        named = zip(ends, lines["arm"], strict=True)
        ends = [f"{end} with {words.name(arm)}" for end, arm in named]
    held = f"{lines['held_in_flight'].max():,.0f} in flight"
    between = " to ".join(dict.fromkeys([ends[0], ends[-1]]))
    yield f"{join(', ', listing.title, held, part.name)}: {figure.words} {between}."


def _is_first(part: Part, lines: pd.DataFrame) -> bool:
    """Return whether the first line differs from all others, by the times of their trials."""
    figure = part.listing.order
    same = part.trials.merge(lines[["arm", *part.listing.keys]])
    values = same[same["valid"]].assign(value=same[figure], figure=figure)
    ratios = contrast(values, "arm", lines["arm"].iloc[0], ["figure"])
    return bool(len(ratios)) and bool((ratios["answer"] == "differs").all())


def rate_kept(part: Part) -> Iterator[str]:
    """Say which is the highest rate that was kept in every round, below the lowest one that was not."""
    lines = part.lines.reindex(columns=["valid", "rate_per_s", "kept"])
    valid = lines[lines["valid"].astype(bool) & lines["kept"].notna()]
    lost = valid[valid["kept"] < 1]["rate_per_s"].min()
    rates = valid[(valid["kept"] == 1) & ~(valid["rate_per_s"] >= lost)]["rate_per_s"]
    if len(valid):
        highest = f"{rates.max():,.10g} requests/s" if len(rates) else "none of those offered"
        yield f"{join(', ', part.listing.title, part.name)}: the highest rate kept is {highest}."


def reached(part: Part) -> Iterator[str]:
    """Say how much of each resource a process reached, and which limit binds."""
    for line in part.lines.to_dict("records"):
        if line["valid"] and not pd.isna(line.get("found")):
            bound = line.get("bound_by")
            limit = (
                f"bound by {words.plain(bound, 70)}" if isinstance(bound, str) else f"stopped by: {line['stopped_by']}"
            )
            yield f"Limit of {words.name(line['arm'])}: {line['found']:,.0f}, {words.plain(limit, 80)}."


FINDINGS = {"ranked": ranked, "rate_kept": rate_kept, "reached": reached}
