"""``inflight bisect``: find the commit that made a strategy worse, by comparisons of GOOD with commits after it."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from inflight.bench.commands import run as commands
from inflight.bench.commands.output import complain, say
from inflight.bench.core import rows, selftests
from inflight.bench.core.arm import Arm
from inflight.bench.core.experiment import named
from inflight.bench.core.judge import ExperimentError, need
from inflight.bench.measure import host
from inflight.bench.measure import run as runs
from inflight.bench.measure.blocks import git
from inflight.bench.measure.blocks.sides import FOLDER, repository_of, source_of
from inflight.bench.measure.places import without_places
from inflight.bench.studies.bisect import loop, odds, show
from inflight.bench.studies.bisect.loop import Bench, Compared
from inflight.bench.studies.bisect.record import Bisection, Commit
from inflight.bench.studies.bisect.walk import most_steps
from inflight.bench.studies.compare import command as ab
from inflight.bench.studies.compare import simulation
from inflight.bench.studies.compare.comparison import Comparison, from_words
from inflight.bench.studies.compare.rule import Rule
from inflight.bench.studies.compare.run import Calibration
from inflight.strategies.registry import is_reference

REFUSALS = commands.REFUSALS
EXITS = {"pass": 0, "regression": 1, "inconclusive": 3}
FILE, MARKDOWN_FILE = "bisect.json", "bisect.md"
Sides = Callable[[str], Comparison]
"""Returns the comparison of GOOD with a commit."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A bisection as the folder of its run names it."""

    bisection: Bisection
    name: str = "bisect"

    def to_dict(self) -> dict[str, Any]:
        """Return it as values for TOML."""
        found = self.bisection
        ends = {"good": found.good.id, "bad": found.commits[-1].id}
        return {"about": "Find the commit that made a strategy worse.", "strategy": found.strategy, **ends}


def run(
    *,
    good: str,
    bad: str,
    strategy: str,
    repository: Path | None,
    python: str | None,
    requirement: str | None,
    setting: str | None,
    variables: str | None,
    latency: str,
    links: int,
    cycles: int | None,
    metrics: Sequence[str],
    time: str | None,
    out: Path,
    markdown: Path | None,
    fresh: bool,
    as_json: bool,
) -> int:
    """Search, print the commit, and return 0 (no regression), 1 (found), 3 (not found) or 130 (interrupted)."""
    if is_reference(strategy):
        strategy = named(strategy, "STRATEGY")
    need("@" not in strategy, f"name the strategy without a revision, not {strategy}: GOOD and BAD are its revisions")
    sides = {
        name: (value,)
        for name, value in (
            ("repositories", repository), ("pythons", python), ("requirements", requirement),
            ("settings", setting), ("variables", variables),
        )
        if value is not None
    }  # fmt: skip
    asked = {"latency": latency, "links": links, "metrics": list(metrics)}
    budget_s = None if time is None else ab.seconds(time)
    ab.check_writable(out, markdown)
    told = {**asked, **{name: str(value) for name, (value,) in sides.items()}, "cycles": cycles, "budget": time}
    started = _started(*_code(strategy, repository), good, bad, strategy, without_places(told))

    def compared(commit: str) -> Comparison:
        return from_words(f"{strategy}@{started.good.id}", f"{strategy}@{commit}", **asked, **sides)  # type: ignore[arg-type]

    compared(started.commits[-1].id)  # raises ExperimentError for an invalid option
    machine = host.machine()
    folder, found = (None, started) if fresh else _unfinished(out, started, machine)
    if folder is None:
        folder = runs.new_folder(out, Planned(started), machine)
    else:
        say(f"going on in {folder}; known steps: {len(found.steps)} (--fresh begins again)")
    try:
        with commands.interruptible(), ab.place() as place:
            bench = Bench(place, folder, machine, budget_s, selftests.latest([out, ab.RESULTS], machine))
            found = _search(bench, found, compared, cycles)
    except KeyboardInterrupt:
        complain(f"interrupted; the same command goes on from {folder}")
        return 130
    return _conclude(folder, found, markdown, as_json=as_json)


def _code(strategy: str, repository: Path | None) -> tuple[Path, str]:
    """Return the repository of a strategy, and the folder in it that a side of a comparison is a copy of."""
    source = source_of(Arm("A", strategy, repository=repository))
    return (repository or Path.cwd(), FOLDER) if source is None else (repository_of(source, strategy), ".")


def _started(repository: Path, folder: str, good: str, bad: str, strategy: str, asked: Mapping[str, Any]) -> Bisection:
    """Return the search before its first step. Raises ExperimentError if there is nothing to search."""
    for revision in (good, bad):
        need(not revision.startswith("-"), f"{revision!r} is not a git revision")
    first, last = git.commit(repository, good), git.commit(repository, bad)
    if not git.is_ancestor(repository, first[0], last[0]):
        raise ExperimentError(f"{good} is not an ancestor of {bad} in {repository}, so no commits lie between them")
    between = git.commits_between(repository, first[0], last[0], folder)
    if not between:
        what = "a file" if folder == "." else f"{folder}/"
        raise ExperimentError(f"no commit after {good} and up to {bad} changes {what}, so there is nothing to find")
    return Bisection(strategy, Commit(*first), tuple(Commit(*one) for one in between), asked)


def _unfinished(out: Path, started: Bisection, machine: Mapping[str, Any]) -> tuple[Path | None, Bisection]:
    """Return the newest unfinished search of the same commits with the same options on this machine, and its folder."""
    for path in sorted(out.glob(f"*/{FILE}"), reverse=True):
        try:
            kept = Bisection.from_dict(json.loads(path.read_text(encoding="utf-8")))
            other = rows.machine(path.parent)
        except (OSError, ValueError, KeyError, TypeError, rows.RowsError):
            continue
        is_same = replace(kept, steps=(), metrics=(), cycles=None, right=None, assumed=None) == started
        if is_same and not kept.is_over and all(other.get(key) == machine.get(key) for key in selftests.SAME):
            return path.parent, kept
    return None, started


def _search(bench: Bench, found: Bisection, compared: Sides, cycles: int | None) -> Bisection:
    """Compare until the search is over; each step is kept before the next one begins."""
    if found.first is None:
        found = _compare_ends(bench, found, compared, cycles)
    while not found.is_over and (place := found.found.next) is not None:
        commit = found.commits[place - 1]
        say(f"GOOD against {show.commit_told(commit)}; at most {most_steps(len(found.suspects))} comparisons are left")
        step = loop.step(bench, commit.id, loop.only(compared(commit.id), found.metrics), found.cycles)
        say(f"{show.commit_told(commit)}: {step.answer}: {step.why}")
        found = found.after(step)
        _keep(bench.folder, found)
    return found


def _compare_ends(bench: Bench, found: Bisection, compared: Sides, cycles: int | None) -> Bisection:
    """Compare GOOD with BAD, and plan the search by the change."""
    bad = found.commits[-1]
    say(f"GOOD: {show.commit_told(found.good)}\nBAD:  {show.commit_told(bad)}")

    def tell(rule: Rule, calibration: Calibration) -> None:
        times_s = rule.looks[0] * calibration.block_s, rule.looks[-1] * calibration.block_s
        say(show.plan_told(len(found.commits), times_s, rule))

    one = loop.compare(bench, bad.id, compared(bad.id), cycles, tell)
    say(f"BAD: {one.step.answer}: {one.step.why}")
    found = replace(found.after(one.step), metrics=loop.worse(one.result), cycles=one.cycles)
    if one.step.answer == "regression":
        found = _with_chance(found, one)
        for sentence in show.right_told(found):
            say(sentence)
    _keep(bench.folder, found)
    return found


def _with_chance(found: Bisection, one: Compared) -> Bisection:
    """Add the chance that the search is right, simulated for the clearest change; none if B failed instead."""
    changes = [effect for effect in one.result.decision.effects if effect.metric in found.metrics]
    if not changes:
        return found
    clearest = max(changes, key=lambda effect: effect.low / effect.sd)
    rule = one.result.rule if one.step.comparisons == 1 else loop.shorter(one.result.rule)
    worse, same = (
        _twice([simulation.chances(size, clearest.sd, own, len(changes)) for own in (rule, loop.longer(rule))])
        for size in (clearest.low, 0.0)
    )
    right = odds.right(len(found.commits), odds.Rates(found=worse[0], passed_before=same[1]))
    return replace(found, right=right, assumed=clearest.low)


def _twice(counts: "list[simulation.Counts]") -> tuple[float, float]:
    """Return the chances of a regression and of a pass in a comparison that is repeated if it is inconclusive."""
    first, second = counts
    again = first.inconclusive / first.decisions
    found, passed = (
        (getattr(first, name) / first.decisions, getattr(second, name) / second.decisions)
        for name in ("alarms", "passes")
    )
    return found[0] + again * found[1], passed[0] + again * passed[1]


def _keep(folder: Path, found: Bisection) -> None:
    try:
        told = json.dumps(without_places(show.to_json(found)), indent=2, allow_nan=False)
        (folder / FILE).write_text(f"{told}\n", encoding="utf-8")
    except OSError as error:
        raise runs.RunError(f"cannot write {folder / FILE}: {error.strerror}") from error


def _conclude(folder: Path, found: Bisection, markdown: Path | None, *, as_json: bool) -> int:
    """Print the result, write it as Markdown, and return its exit code."""
    from rich.console import Console

    if as_json:
        print(json.dumps(show.to_json(found) | {"folder": str(folder)}, allow_nan=False))
    else:
        Console(file=sys.stdout, highlight=False, soft_wrap=True).print(show.text(found))
    try:
        (folder / MARKDOWN_FILE).write_text(show.markdown(found), encoding="utf-8")
        if markdown is not None:
            with markdown.open("a", encoding="utf-8") as file:
                file.write(show.markdown(found))
    except OSError as error:
        raise runs.RunError(f"cannot write {error.filename or folder}: {error.strerror}") from error
    say(f"kept:  {folder / FILE}")
    return EXITS[found.verdict]
