"""A bisection as text, Markdown and JSON. Pure."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from inflight.bench.core import units
from inflight.bench.present import section as form
from inflight.bench.present import words
from inflight.bench.present.section import Section
from inflight.bench.present.table import Table
from inflight.bench.studies.bisect import odds
from inflight.bench.studies.bisect.record import Bisection, Commit, Step
from inflight.bench.studies.bisect.walk import most_steps
from inflight.bench.studies.compare.effect import named, own
from inflight.bench.studies.compare.rule import DESIGNED, Rule

if TYPE_CHECKING:
    from rich.text import Text

WIDTH = 110
MOST_SUBJECT = 50
MOST_LISTED = 20
"""Maximum number of remaining commits that are listed."""
_ANSWERS = {"regression": "REGRESSION", "untestable": "cannot be tested"}


def title(found: Bisection) -> str:
    """Return the verdict."""
    first, commits = found.first, words.counted(len(found.commits), "commit")
    if first is None:
        return "INCONCLUSIVE: nothing was compared"
    if first.answer == "pass":
        return f"PASS: {found.strategy} is not worse in BAD than in GOOD, so there is nothing to find"
    if first.answer != "regression":
        return f"INCONCLUSIVE: it is not known whether {found.strategy} is worse in BAD than in GOOD"
    if found.found.is_found:
        (commit,) = found.suspects
        return f"REGRESSION: {commit_told(commit)} is the first of {commits} that is worse than GOOD"
    ends = f"after {_before(found)}, up to {commit_told(found.suspects[-1])}"
    return f"INCONCLUSIVE: it is one of {len(found.suspects)} of {commits}: {ends}"


def _before(found: Bisection) -> str:
    place = found.found.good
    return commit_told(found.commits[place - 1]) if place else "GOOD"


def commit_told(commit: Commit) -> str:
    """Write a commit with its subject."""
    subject = words.plain(commit.subject, MOST_SUBJECT)
    return f"{commit.short} ({subject})" if subject else commit.short


def text(found: Bisection) -> "Text":
    """Return the bisection for a terminal."""
    return form.text(section(found), WIDTH)


def markdown(found: Bisection) -> str:
    """Return the bisection as Markdown."""
    return f"### inflight bisect: {found.verdict}\n\n{form.markdown(section(found))}\n"


def section(found: Bisection) -> Section:
    """Return the verdict, the comparisons in their order, and how likely the result is right."""
    heads = ("commit", "blocks", "change of", "", "95 % interval", "verdict")
    lines = tuple(_line(found, step) for step in found.steps)
    return Section(title(found), (Table("GOOD against each commit", heads, lines),), tuple(_notes(found)))


def _line(found: Bisection, step: Step) -> tuple[str, ...]:
    commit = next(one for one in found.commits if one.id == step.commit)
    worst = max(step.changes, key=lambda one: abs(math.log(one.ratio)), default=None)
    change = ("-", "-", "-") if worst is None else (named(worst.metric), *_change(worst.metric, worst.ratio, worst))
    bad = "BAD: " if step is found.first else ""
    return f"{bad}{commit_told(commit)}", units.count(step.blocks), *change, _ANSWERS.get(step.answer, step.answer)


def _change(metric: str, ratio: float, found: Any) -> tuple[str, str]:
    low, high = (own(metric, math.log(end)) for end in (found.low, found.high))
    return units.change(own(metric, math.log(ratio))), units.change_between(low, high)


def _notes(found: Bisection) -> Iterator[str]:
    yield f"GOOD: {commit_told(found.good)}; strategy: {words.name(found.strategy)}."
    for step in found.steps:
        if step.answer in {"inconclusive", "untestable"}:
            yield f"{step.commit[:12]}: {words.plain(step.why, 300)}."
    if found.verdict == "inconclusive" and found.first is not None and found.first.answer == "regression":
        listed = [commit_told(one) for one in found.suspects[:MOST_LISTED]]
        rest = len(found.suspects) - len(listed)
        yield f"Remaining commits: {'; '.join(listed)}{f'; {rest} more' if rest else ''}."
    yield rates_told(DESIGNED, found.comparisons)
    yield from right_told(found)


def rates_told(rule: Rule, comparisons: int) -> str:
    """Write the bound of the chance of any wrong answer, with its formula."""
    each = max(rule.alpha, rule.pass_alpha)
    return (
        f"Chance of a wrong answer in any of {words.counted(comparisons, 'comparison')}: at most "
        f"{100 * odds.most_wrong(rule, comparisons):.3g} % if a commit made it at least "
        f"{units.change_size(rule.acceptable)} worse ({comparisons} x {100 * each:g} %, Boole's inequality; by "
        "design of the rule of inflight ab). Smaller changes may pass."
    )


def right_told(found: Bisection) -> Iterator[str]:
    """Yield the simulated chance of naming the right commit, if it is known."""
    if found.right is not None and found.assumed is not None:
        share = "more than 99 %" if found.right > 0.99 else units.percent(found.right)
        yield (
            f"If the change is {units.change(found.assumed)}, the lower end of its interval in GOOD against BAD, and "
            f"blocks vary as they did there, {share} of simulated searches name the right commit. Each commit is "
            "equally likely, and one of them makes the whole change."
        )


def plan_told(commits: int, times_s: tuple[float, float], rule: Rule) -> str:
    """Write how many comparisons a search may need, how long they take, and how likely they are right."""
    steps = 1 + most_steps(commits)
    first, last = (units.duration(seconds * 1e9, 2) for seconds in times_s)
    whole = units.number(steps * times_s[1] / 60, 2)
    return (
        f"{words.counted(commits, 'commit')} to search: GOOD against BAD, then at most "
        f"{words.counted(steps - 1, 'comparison')} of GOOD with a commit between\n"
        f"each takes about {first} to {last}, all at most about {whole} min; an inconclusive one is repeated once, "
        f"with twice as many blocks\n{rates_told(rule, steps)}"
    )


def to_json(found: Bisection, rule: Rule = DESIGNED) -> dict[str, Any]:
    """Return the bisection as values for JSON."""
    return found.to_dict() | {
        "verdict": found.verdict,
        "headline": title(found),
        "suspects": [one.id for one in found.suspects] if found.verdict != "pass" else [],
        "most_wrong": odds.most_wrong(rule, found.comparisons),
    }
