"""The one evaluator: from the frame of a claim's trials to its figures, the answers of its parts, and the verdict.

``command.report_of`` calls ``judge`` for each claim with the rows of its trials. Each part of a claim becomes an answer
(yes, no, borderline, unknown); ``decide`` makes the verdict of them. Parts with the same *core* are one main statement:
the claim is not true here if all parts of a core are "no". What a file may ask for is in ``claims``.
"""

import ast
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd
from msgspec.structs import replace

from inflight.bench.claims.claims import Claim, ClaimPart, Fact, FigureOf, Selected
from inflight.bench.claims.verdicts import ClaimFigure, PartAnswer, Verdict, Word, Yes
from inflight.bench.frame import frame
from inflight.bench.frame.contrast import contrast, records
from inflight.bench.frame.slopes import NoSlope, layers, memory_slope
from inflight.bench.rows.files import Row

BORDERLINE = "The interval of a deciding figure includes its boundary, so another run may give another verdict."
"""Why a claim is borderline: its verdict is then "partly true"."""
NOT_TESTED = "Too few valid trials; not valid are {invalid} of {total}. {reasons}"
"""Why a claim has no verdict."""
LACKS = "the figures of its program are missing"
"""Why a trial of a program does not count."""
MIN_FREE = 0.9
"""Minimum share of a core that threads with the lock have; with less, other programs used the cores."""
FREEST, MIN_SLICES = 24, 3
"""Which slices count for the freest ones: one in FREEST of all, but at least MIN_SLICES."""
SAME = 0.01
"""Relative distance of limits that count as equal: other processes change them by that much."""

Ends = tuple[float, float, float]
"""A figure: the estimate, and the low and the high end of its interval."""


class UnknownError(Exception):
    """A figure that the trials do not have; the message says why."""


def judge(claim: Claim, rows: Sequence[Row]) -> Verdict:
    """Return the verdict of a claim from the rows of its trials, which may be of any status.

    The order: make the frame, mark trials whose program has no figures as not valid, compute the figures, answer each
    part and fact, decide, and choose the sentence of the file for that verdict.
    """
    file, trials = claim.file, read(rows)
    if file.needs:
        lacks = ~trials.index.isin(chosen(trials, file.needs).index)
        trials.loc[trials["valid"] & lacks, "why"] = LACKS
        trials["valid"] &= ~lacks
    figures, exhibits = (_figures(many, trials, rows) for many in (file.figures, file.exhibits))
    answers = [answer for part in file.parts for answer in _answers(part, figures)]
    answers += [answer for fact in file.facts for answer in _facts(fact, trials)]
    if file.compares_limits:
        answers += _before_sockets(trials)
    word, is_borderline = decide(answers)
    if is_borderline:
        why = BORDERLINE
    elif word == "not tested":
        why = _reasons(trials, figures)
    else:
        why = file.why[word].format(**{name: figure.write(figure.estimate) for name, figure in figures.items()})
        if word == "true" and file.is_demonstration:
            word = "demonstration"
    texts = {name: getattr(file, name) for name in ("claim", "source", "published", "tested", "background")}
    known = "; ".join(f"{figure.name}: {figure.text}" for figure in figures.values() if not figure.reason)
    return Verdict(
        **{name: " ".join(text.split()) for name, text in (texts | {"why": why}).items()},
        id=claim.id,
        verdict=word,
        is_borderline=is_borderline,
        measured=f"{file.measure}: {known}".removeprefix(": "),
        answers=tuple(answers),
        figures=figures,
        exhibits={name: exhibit.said for name, exhibit in exhibits.items() if exhibit.said},
    )


def decide(answers: Sequence[PartAnswer]) -> tuple[Word, bool]:
    """Return the verdict of the parts of a claim, and whether it is borderline.

    Not true here: all parts of a core are "no". Partly true: another part is. What is open counts both ways; if the
    verdicts differ, the claim is borderline, or not tested if a figure is unknown.
    """
    least, most = _word(answers, {"yes"}), _word(answers, {"yes", "borderline", "unknown"})
    if answers and least == most:
        return least, False
    if not answers or any(answer.answer == "unknown" for answer in answers):
        return "not tested", False
    return "partly true", True


def _word(answers: Sequence[PartAnswer], true: Collection[str]) -> Word:
    """Return the verdict if the answers in ``true`` count as yes, and all others as no."""
    cores = {answer.core for answer in answers if answer.answer in true}
    if any(answer.core and answer.core not in cores for answer in answers):
        return "not true here"
    return "true" if all(answer.answer in true for answer in answers) else "partly true"


def _reasons(trials: pd.DataFrame, figures: dict[str, ClaimFigure]) -> str:
    """Return why a claim was not tested: what most trials ended by, and which figures are unknown."""
    bad = trials[~trials["valid"]]["why"]
    unknown = (f"{figure.name}: {figure.reason}" for figure in figures.values() if figure.reason)
    reasons = "; ".join([*bad.value_counts().index[:3], *unknown])
    return NOT_TESTED.format(invalid=len(bad), total=len(trials), reasons=reasons)


def read(rows: Sequence[Row]) -> pd.DataFrame:
    """Return a line for each trial, with its settings, its arguments and the values of its site as columns.

    So the queries of a file can select by any of them. The index of a line is that of its row. If one of them is called
    like a key of the frame, its column is ``argument_`` and the name.
    """
    trials = frame.trials(rows).reset_index(drop=True).astype({"valid": bool})
    values = []
    for site, settings in zip(trials["site"], trials["settings"], strict=True):
        both = json.loads(site) | json.loads(settings)
        values.append(both | both.get("variables", {}))
    more = pd.DataFrame(values, index=trials.index)
    numbers = more.columns[more.map(lambda value: type(value) is int).any()]
    more[numbers] = more[numbers].apply(pd.to_numeric, errors="coerce")
    more = more.rename(columns=lambda name: f"argument_{name}" if name in {*frame.KEYS, *frame.OF_TRIAL} else name)
    return trials.drop(columns=[name for name in more if name in trials]).join(more).copy()


def chosen(trials: pd.DataFrame, query: str) -> pd.DataFrame:
    """Return the trials that a query selects; a column that none of them has is empty."""
    if not query:
        return trials
    names = {node.id for node in ast.walk(ast.parse(query)) if isinstance(node, ast.Name)}
    return trials.assign(**dict.fromkeys(names - set(trials.columns), math.nan)).query(query)


def _each(of: Selected, trials: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Return the trials that count, by the values of a column if one is named; without what is not installed.

    Each is a value, which is appended to the figure's name, with its trials. ``x == x`` leaves out unknown values.
    """
    there = chosen(trials, of.where)
    if not of.each:
        return [("", there)]
    there = chosen(there, f"cause != 'not installed' and {of.each} == {of.each}")
    return [(str(value), group) for value, group in there.groupby(of.each)]


def _figures(many: Mapping[str, FigureOf], trials: pd.DataFrame, rows: Sequence[Row]) -> dict[str, ClaimFigure]:
    """Return each figure by its key, or one for each value of a column, by key and value."""
    figures = {}
    for key, of in many.items():
        for value, group in _each(of, trials):
            figures[f"{key} {value}".strip()] = _figure(of, f"{of.name} {value}".strip(), group, rows)
    return figures


def _figure(of: FigureOf, name: str, trials: pd.DataFrame, rows: Sequence[Row]) -> ClaimFigure:
    """Return a figure of the valid trials, or why it is unknown; a column of texts gives its first text."""
    counted = trials[trials["valid"] & (trials["role"] != "placebo")]
    for text in counted.get(of.column, ()):
        if isinstance(text, str):
            return ClaimFigure(name=name, said=text)
    unit = "_bytes" if of.layer else of.column
    if of.over:
        unit = "ratio"
    try:
        estimate, low, high = (of.times * end for end in _ends(of, counted, rows))
    except UnknownError as unknown:
        return ClaimFigure(name=name, unit=unit, reason=str(unknown))
    return ClaimFigure(name=name, unit=unit, estimate=estimate, low=low, high=high)


def _ends(of: FigureOf, group: pd.DataFrame, rows: Sequence[Row]) -> Ends:
    """Return a figure of trials as estimate, low and high, in the way that its file says. Raises UnknownError."""
    first, other = chosen(group, of.of), chosen(group, of.over or of.minus)
    if of.layer:
        slope = _slope(first, of.layer)
        return _divided(slope, _slope(other, of.layer)) if of.over else slope
    if of.is_of_freest:
        return _ratio(_freest(first, rows), _freest(other, rows))
    if of.over:
        return _ratio(*(side.assign(value=side.get(of.column)) for side in (first, other)))
    estimate, low, high = _spread(of, first)
    if of.minus:
        less, least, most = _spread(of, other)
        return estimate - less, low - most, high - least
    return estimate, low, high


def _ratio(first: pd.DataFrame, other: pd.DataFrame) -> Ends:
    """Return the ratio of ``value`` of two sides, by the units (blocks) that both have in common. Raises UnknownError.

    ``contrast`` takes one table, so the sides are marked by a column, and are one family of comparisons.
    """
    lines = pd.concat([first.assign(side="one", family=0), other.assign(side="other", family=0)])
    ratios = records(contrast(lines.astype({"value": float}), "side", "other", ["family"]))
    if not ratios or math.isinf(ratios[0].high):
        raise UnknownError("too few valid blocks")
    return ratios[0].estimate, ratios[0].low, ratios[0].high


def _freest(trials: pd.DataFrame, rows: Sequence[Row]) -> pd.DataFrame:
    """Return the pages per second of the freest slices of an arm in all its blocks.

    Other programs take a second core for some hundred milliseconds, and then threads without the lock wait for those
    that were stopped. In the freest slices the worker had most CPU time, whatever its pages were. Those of two arms are
    seldom in the same block, so they are no pairs.
    """
    slices: list[Any] = [window for place in trials.index for window in rows[place].measured.windows or ()]
    slices.sort(key=lambda window: window.cpu_ns / window.wall_ns, reverse=True)
    rates = [window.pages / window.wall_ns * 1e9 for window in slices[: max(MIN_SLICES, len(slices) // FREEST)]]
    first = min(trials.index, default=None)
    units = [f"{first} {number}" for number in range(len(rates))]
    return pd.DataFrame({"unit": units, "value": rates, "valid": True})


def _spread(of: FigureOf, trials: pd.DataFrame) -> Ends:
    """Return the median of a column with the least and the greatest value. Raises UnknownError for too few rounds."""
    if of.column not in trials or len(values := trials[of.column].dropna()) < of.rounds:
        raise UnknownError("too few valid rounds")
    return float(values.median()), float(values.min()), float(values.max())


def _slope(trials: pd.DataFrame, layer: str) -> Ends:
    """Return the memory of one more of what is held, in bytes, with its interval. Raises UnknownError."""
    lines = layers(trials)
    part = lines[(lines["layer"] == layer) & (lines["group"] != "parked") & lines["size"].notna()]
    slope = memory_slope(list(part["n"]), list(part["size"]))
    if isinstance(slope, NoSlope):
        raise UnknownError(slope.reason)
    return slope.estimate, slope.low, slope.high


def _divided(first: Ends, other: Ends) -> Ends:
    """Return the ratio of two slopes, with the widest interval that both intervals allow."""
    if other[1] <= 0 or first[1] < 0:
        raise UnknownError("a slope is not above 0")
    return first[0] / other[0], first[1] / other[2], first[2] / other[1]


def _answers(part: ClaimPart, figures: dict[str, ClaimFigure]) -> list[PartAnswer]:
    """Return the answer of each figure of a part; if one of them is enough, one answer."""
    answers = [
        PartAnswer(
            name=figure.name,
            answer=_answer(part, figure, figures),
            measured=figure.text,
            must=f"{part.test} {figure.write(part.edge)}",
            core=part.core,
        )
        for key, figure in figures.items()
        if key.split(" ")[0] in part.figures
    ]
    if part.is_any and answers:
        answers.sort(key=lambda answer: ("yes", "unknown", "borderline", "no").index(answer.answer))
        names = " / ".join(answer.name for answer in answers)
        return [replace(answers[0], name=names)]
    return answers


def _answer(part: ClaimPart, figure: ClaimFigure, figures: dict[str, ClaimFigure]) -> Yes:
    """Return on which side of the edge of its part a figure is, with its whole interval or not."""
    if figure.low is None or figure.high is None:
        return "unknown"
    is_below, is_above = figure.high < part.edge, figure.low >= part.edge
    is_yes, is_no = {
        "at least": (is_above, is_below),
        "below": (is_below, is_above),
        "not clearly above": (not is_above, is_above),
        "not clearly below": (not is_below, is_below),
    }[part.test]
    if is_yes:
        return "yes"
    if not is_no:
        return "borderline"
    is_disturbed = part.if_free and (figures[part.if_free].estimate or 0) < MIN_FREE
    return "unknown" if is_disturbed else "no"


def _facts(fact: Fact, trials: pd.DataFrame) -> Iterator[PartAnswer]:
    """Yield the answer of a fact, or of each value of a column."""
    for value, group in _each(fact, trials):
        workloads = set(chosen(group[group["valid"]], fact.yes)["workload"])
        yes: Yes = "yes" if workloads and workloads == set(group["workload"]) else "unknown"
        if fact.no and len(chosen(group, fact.no)):
            yes = "no"
        ended = "; ".join(group[~group["valid"]]["why"].head(1))
        yield PartAnswer(
            name=f"{fact.name} {value}".strip(), answer=yes, measured=ended, must=fact.must, core=fact.core
        )


def _before_sockets(trials: pd.DataFrame) -> Iterator[PartAnswer]:
    """Yield whether threads, as many as were reached, end before the descriptors and ports that are predicted."""
    valid = {row["strategy"]: row for row in trials[trials["valid"]].to_dict("records")}
    threads = valid.get("threads", {})
    low = threads.get("found", math.nan)
    high = low if threads.get("stopped_by") == "failure" else math.inf
    for name in ("descriptors", "ports"):
        predicted = valid.get(name, {}).get("predicted", math.nan)
        yes: Yes = "borderline" if math.isfinite(high + predicted) else "unknown"
        if high < predicted * (1 - SAME):
            yes = "yes"
        elif predicted < low * (1 - SAME):
            yes = "no"
        yield PartAnswer(name=name, answer=yes, must="is above the limit of threads by 1 %", core="first")
