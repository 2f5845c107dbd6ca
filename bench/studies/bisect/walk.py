"""The binary search of a bisection: which commit is compared next, and what its verdict leaves. Pure.

Commits are numbered in their order: 0 is GOOD, the last is BAD, and only one commit between made the strategy worse.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

Answer = Literal["regression", "pass", "inconclusive", "untestable"]
"""The verdict of GOOD against a commit; ``untestable``: the comparison could not be run at this commit."""


@dataclass(frozen=True, slots=True)
class Range:
    """What is known: commit ``good`` is as good as GOOD, commit ``bad`` is worse."""

    good: int
    bad: int
    skipped: frozenset[int] = frozenset()
    """Commits that cannot be tested."""
    undecided: int | None = None
    """The commit whose comparison was inconclusive, which ended the search."""

    @property
    def suspects(self) -> range:
        """The commits of which one made the strategy worse."""
        return range(self.good + 1, self.bad + 1)

    @property
    def is_found(self) -> bool:
        """Whether the commit is known."""
        return len(self.suspects) == 1

    @property
    def next(self) -> int | None:
        """The commit to compare next: the testable one nearest to the middle; None if the search is over."""
        if self.undecided is not None:
            return None
        middle = (self.good + self.bad) // 2
        left = [one for one in range(self.good + 1, self.bad) if one not in self.skipped]
        return min(left, key=lambda one: (abs(one - middle), one), default=None)

    def after(self, commit: int, answer: Answer) -> "Range":
        """Return what is known after the comparison of GOOD with a commit between both ends."""
        if not self.good < commit < self.bad:
            raise ValueError(f"commit {commit} is not between {self.good} and {self.bad}")
        if answer == "regression":
            return replace(self, bad=commit)
        if answer == "pass":
            return replace(self, good=commit)
        if answer == "untestable":
            return replace(self, skipped=self.skipped | {commit})
        return replace(self, undecided=commit)


def walk(commits: int, ask: Callable[[int], Answer]) -> Range:
    """Search among a number of commits after GOOD, of which the last is known to be worse."""
    found = Range(0, commits)
    while (commit := found.next) is not None:
        found = found.after(commit, ask(commit))
    return found


def most_steps(commits: int) -> int:
    """Return the most comparisons that a search needs if every commit can be tested: ceil(log2(commits))."""
    return (commits - 1).bit_length()
