"""Rows as tidy tables for pandas, and as CSV. Pure.

Missing values are ``pandas.NA``. ``docs/api.md`` has meanings and units.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from inflight.bench.plan import judge
from inflight.bench.present import words
from inflight.bench.rows.files import Row

if TYPE_CHECKING:
    import pandas as pd

    from inflight.bench.show.listing import Listing
    from inflight.bench.show.study import Study


class NotInRunError(ValueError):
    """A value is not in the run; the message lists those that are. Use one of these, or run more."""


TEXT, WHOLE, REAL, TRUTH = "string", "Int64", "Float64", "boolean"
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
    "points",
    "sizes",
)
_REAL = ("rate_per_s", "value", "estimate", "low", "high", "intercept", "ratio_estimate", "ratio_low", "ratio_high")
_TYPES = dict.fromkeys((*_WHOLE, "ratio_n"), WHOLE) | dict.fromkeys((*_REAL, "ratio_p"), REAL)
_TYPES |= dict.fromkeys(("valid", "is_straight"), TRUTH)
_RATIO = ("baseline", "estimate", "low", "high", "n", "p", "answer")
MEMORY, LADDER = "memory", "ladder"
"""The study of memory, which has no Study, and its second plot."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet read a cell as a formula."""


def typed(found: "pd.DataFrame", names: Sequence[str]) -> "pd.DataFrame":
    """Return some columns in order, each with the type that its name always has."""
    return found.reindex(columns=list(names)).astype({name: _TYPES.get(name, TEXT) for name in names})


def frame(lines: "pd.DataFrame") -> "pd.DataFrame":
    """Return the frame."""
    from inflight.bench.frame.frame import KEYS

    return typed(lines, [*KEYS, "valid", "why", "figure", "value"])


def trials(rows: Iterable[Row]) -> "pd.DataFrame":
    """Return one line for each trial, with a column for each figure and text: the frame, unstacked.

    Figures are ``Int64`` if all their values are whole, else ``Float64``.
    """
    from inflight.bench.frame.frame import KEYS, OF_TRIAL
    from inflight.bench.frame.frame import trials as wide

    found = wide(rows)
    return found.astype({name: _TYPES.get(name, TEXT) for name in (*KEYS, *OF_TRIAL)}).convert_dtypes()


def csv(rows: Iterable[Row]) -> str:
    """Return the trials as CSV with a header line. No spreadsheet reads a text of it as a formula."""
    found = trials(rows)
    for name in [name for name, kind in found.dtypes.items() if kind == TEXT]:
        found[name] = found[name].map(_harmless, na_action="ignore")
    return found.to_csv(index=False, lineterminator="\n")


def _harmless(text: str) -> str:
    """Put an apostrophe before text that a spreadsheet would evaluate.

    See https://owasp.org/www-community/attacks/CSV_Injection. A carriage return becomes a line feed: it would not be
    quoted, and readers would take it as the end of a line.
    """
    return f"{chr(39) if text.startswith(_FORMULA) else ''}{text}".replace("\r", "\n")


def moments(rows: Iterable[Row]) -> "pd.DataFrame":
    """Return the figures over time."""
    from inflight.bench.frame import moments as over_time
    from inflight.bench.frame.frame import KEYS, OF_TRIAL

    return typed(over_time.moments(rows), [*KEYS, *OF_TRIAL, "at_ns", "figure", "value"])


def checks(rows: Iterable[Row]) -> "pd.DataFrame":
    """Return the validity checks of each trial."""
    import pandas as pd

    names = ("trial", "strategy", "kind", "round", "valid", "name", "verdict", "detail")
    found = [
        (row.trial, row.strategy, row.kind, row.round, row.valid, check.name, check.verdict, check.detail)
        for row in rows
        for check in row.checks
    ]
    return typed(pd.DataFrame(found, columns=list(names)), names)


def study_of(name: str) -> "Study | Listing | str":
    """Return the study with a name; MEMORY and LADDER are themselves. Raises NotInRunError for an unknown one."""
    from inflight.bench.show.studies import LISTINGS, STUDIES

    known = {study.name: study for study in (*STUDIES, *LISTINGS)} | {MEMORY: MEMORY, LADDER: LADDER}
    if name not in known:
        raise NotInRunError(words.plain(f"no study {name!r}{judge.nearest(str(name), known)}"))
    return known[name]


def study_table(name: str, wide: "pd.DataFrame") -> "pd.DataFrame":
    """Return a study as one line for each line and column of its table; ``wide`` are the trials."""
    import pandas as pd

    from inflight.bench.frame.frame import long
    from inflight.bench.show import listing, memory
    from inflight.bench.show.sections import as_json
    from inflight.bench.show.study import Study, parts

    study = study_of(name)
    if isinstance(study, str):
        return typed(pd.DataFrame(memory.as_json(wide)), memory.COLUMNS_OF_JSON)
    if isinstance(study, listing.Listing):
        return pd.DataFrame(listing.as_json(study, listing.parts(study, wide))).convert_dtypes()
    found: list[dict[str, Any]] = [
        one | {f"ratio_{key}": value for key, value in (one["ratio"] or {}).items()}
        for one in as_json(study, parts(study, long(wide)))
    ]
    ratios = [f"ratio_{key}" for key in _RATIO] if isinstance(study, Study) and study.over else []
    columns = ["part", "line", *study.columns, "estimate", "low", "high", "n", "valid", *ratios]
    return typed(pd.DataFrame(found), columns)
