"""What a bisection found, step by step, as it is kept in ``bisect.json``. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from inflight.bench.studies.bisect.walk import Answer, Range

FORMAT = 1
Verdict = Literal["pass", "regression", "inconclusive"]


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one metric from GOOD to a commit: ratios, with the ends of the 95 % interval."""

    metric: str
    ratio: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Step:
    """One comparison of GOOD with a commit."""

    commit: str
    answer: Answer
    why: str
    comparisons: int = 0
    """Number of comparisons: 2 if the first one was inconclusive, 0 if the commit cannot be tested."""
    blocks: int = 0
    changes: tuple[Change, ...] = ()
    folders: tuple[str, ...] = ()
    """Names of the folders with the rows, within the folder of the bisection."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit and the first line of its message."""

    id: str
    subject: str

    @property
    def short(self) -> str:
        """The beginning of its id."""
        return self.id[:12]


@dataclass(frozen=True, slots=True)
class Bisection:
    """A search, finished or not."""

    strategy: str
    good: Commit
    commits: tuple[Commit, ...]
    """The commits after GOOD; the last stands for BAD."""
    asked: Mapping[str, Any]
    """The options, as given."""
    steps: tuple[Step, ...] = ()
    """The first is GOOD against BAD."""
    metrics: tuple[str, ...] = ()
    """The metrics that are worse in BAD, which the later steps compare; empty: all."""
    cycles: int | None = None
    """Number of slices of each side in a block, as the first step chose it."""
    right: float | None = None
    """Simulated chance that the search names the right commit, from ``assumed`` and the noise of the first step."""
    assumed: float | None = None
    """The change that ``right`` assumes, as the logarithm of a ratio: the lower end of the interval of the first step.
    Its estimate would be too optimistic: a change that was found is on average smaller than it looked."""

    @property
    def found(self) -> Range:
        """What the steps so far leave."""
        left = Range(0, len(self.commits))
        places = {commit.id: number for number, commit in enumerate(self.commits, start=1)}
        for step in self.steps[1:]:
            left = left.after(places[step.commit], step.answer)
        return left

    @property
    def first(self) -> Step | None:
        """The comparison of GOOD with BAD."""
        return self.steps[0] if self.steps else None

    @property
    def is_over(self) -> bool:
        """Whether no more comparisons are needed."""
        return self.first is not None and (self.first.answer != "regression" or self.found.next is None)

    @property
    def verdict(self) -> Verdict:
        """``pass``: BAD is not worse; ``regression``: the commit is known; ``inconclusive``: it is not."""
        if self.first is not None and self.first.answer == "pass":
            return "pass"
        is_known = self.first is not None and self.first.answer == "regression" and self.found.is_found
        return "regression" if is_known else "inconclusive"

    @property
    def suspects(self) -> Sequence[Commit]:
        """The commits of which one made the strategy worse."""
        return [self.commits[place - 1] for place in self.found.suspects]

    @property
    def comparisons(self) -> int:
        """Number of comparisons so far."""
        return sum(step.comparisons for step in self.steps)

    def after(self, step: Step) -> "Bisection":
        """Return the search with one more step."""
        return replace(self, steps=(*self.steps, step))

    def to_dict(self) -> dict[str, Any]:
        """Return it as values for JSON."""
        return {"format": FORMAT, **asdict(self)}

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> "Bisection":
        """Return a kept search. Raises KeyError, TypeError or ValueError for anything else."""
        if values["format"] != FORMAT:
            raise ValueError("another format")
        steps = tuple(_step(one) for one in values["steps"])
        commits = tuple(Commit(**one) for one in values["commits"])
        return Bisection(
            values["strategy"],
            Commit(**values["good"]),
            commits,
            values["asked"],
            steps,
            tuple(values["metrics"]),
            values["cycles"],
            values["right"],
            values["assumed"],
        )


def _step(values: Mapping[str, Any]) -> Step:
    changes = tuple(Change(**one) for one in values["changes"])
    return Step(**{**values, "changes": changes, "folders": tuple(values["folders"])})
