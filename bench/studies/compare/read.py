"""From the rows of a comparison to one value a block for each metric and each control: what ``decide`` goes by. Pure.

A value is the logarithm of B over A, turned so that B is worse above 0: CPU time and memory as they are, throughput
with its sign changed. A was measured twice in each block; B is held against the mean of both. The controls are the
second measurement of A against the first: the same code, so they should be 0, and they vary independently of the value.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median
from typing import Any, Literal

from bench.core.model import CLEARLY_ABOVE, knee
from bench.core.rows import Row
from bench.studies.compare.decide import Decision, Rule, decide

TIMED = ("cpu_per_page", "throughput")
PLACEBO = "placebo "
"""So begin the names of the controls."""
CONTROLS = {f"{PLACEBO}CPU per page": "cpu_per_page", f"{PLACEBO}throughput": "throughput"}
"""The metric of each control."""
LEAST_SHARE = 0.5
"""Throughput is gated where a slowdown moves it by at least half of itself; below, it would hide what it is to show."""
OUTSIDE = frozenset({"server had room", "no listen drops"})
"""The checks of an arm that are not the arm's own doing."""

Values = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Block:
    """What was measured at one time: a row of each arm by its role, and the rows of memory by arm."""

    number: int
    arms: Mapping[str, Row]
    """By role: reference (A), compared (B), placebo (A again)."""
    memory: Mapping[str, tuple[Row, ...]]
    """By ``A`` and ``B``: two processes each, where memory was measured."""

    @property
    def rows(self) -> list[Row]:
        """All of them."""
        return [*self.arms.values(), *(row for own in self.memory.values() for row in own)]

    @property
    def failed(self) -> Literal["A", "B"] | None:
        """Whose fault it is that the block has no values; A where both failed: B cannot be held against it."""
        if any(failed(row) for row in self.of("A")):
            return "A"
        return "B" if any(failed(row) for row in self.of("B")) else None

    @property
    def good(self) -> bool:
        """Whether the block has values: all arms are there and valid, and memory was held by both."""
        return len(self.arms) == len(_ROLES) and all(row.valid for row in self.arms.values()) and self.failed is None

    @property
    def reasons(self) -> list[str]:
        """Why it has none: names of red checks, and reasons of failures with their side; each once."""
        blamed = self.failed
        if blamed is not None:
            return [f"{blamed}: {reason(row)}" for row in self.of(blamed) if failed(row)][:1]
        return list(dict.fromkeys(name for row in self.arms.values() if not row.valid for name in _names(row)))

    def of(self, side: str) -> list[Row]:
        """Return the rows of a side, memory included."""
        roles = ("reference", "placebo") if side == "A" else ("compared",)
        return [*(self.arms[role] for role in roles if role in self.arms), *self.memory.get(side, ())]


_ROLES = ("reference", "compared", "placebo")


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of the blocks that were tried."""

    good: tuple[Block, ...]
    failed_a: int
    failed_b: int
    dropped: int
    """Left out on an outside signal: a check that is red, whichever side was faster."""
    reasons: Mapping[str, int]
    """The names of the red checks and the reasons of failures, each with how many blocks had it."""

    @property
    def mostly_for(self) -> str:
        """The reason that most blocks have; empty without any."""
        return max(self.reasons, key=lambda reason: self.reasons[reason], default="")

    @property
    def lost(self) -> int:
        """How many have no values."""
        return self.failed_a + self.failed_b + self.dropped


def comparisons(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return the rows of each comparison, by its name."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.of_comparison:
            found.setdefault(str(row.workload["comparison"]["name"]), []).append(row)
    return found


def blocks(rows: Iterable[Row]) -> list[Block]:
    """Return the blocks of one comparison, by their numbers; one whose rows are not all there yet is left out."""
    arms: dict[int, dict[str, Row]] = {}
    memory: dict[int, dict[str, tuple[Row, ...]]] = {}
    for row in rows:
        arm = row.workload["arm"]
        if row.kind == "arm":
            arms.setdefault(row.round, {})[arm["role"]] = row
        elif row.kind == "memory":
            own = memory.setdefault(row.round, {})
            own[arm["name"]] = (*own.get(arm["name"], ()), row)
    return [Block(number, own, memory.get(number, {})) for number, own in sorted(arms.items()) if len(own) == 3]


def tally(found: Iterable[Block]) -> Tally:
    """Sort the blocks: good ones, those in which a side failed, and those that an outside signal discards."""
    good, failed, dropped = [], Counter[str](), 0
    reasons: Counter[str] = Counter()
    for block in found:
        if block.good:
            good.append(block)
            continue
        reasons.update(block.reasons)
        if block.failed is None:
            dropped += 1
        else:
            failed[block.failed] += 1
    return Tally(tuple(good), failed["A"], failed["B"], dropped, reasons)


def decided(found: Sequence[Block], rule: Rule) -> Decision:
    """Decide on the blocks so far; B never passes with a wrong answer.

    A good block without a value of any gated metric counts as dropped, so that a run of such blocks ends too.
    """
    seen = tally(found)
    gated = gated_values(found)
    without = len(seen.good) - max(map(len, gated.values()), default=0) if gated else 0
    why = "no figure of what is compared" if without > seen.dropped else seen.mostly_for
    controls = series([controls_of(block) for block in seen.good])
    decision = decide(gated, controls, rule, seen.failed_a, seen.failed_b, seen.dropped + without, why)
    wrong = sum(any(row.status == "wrong" for row in block.of("B")) for block in found)
    if decision.verdict == "pass" and wrong:
        why = f"B gave a wrong answer in {wrong} of {len(found)} blocks, so it cannot pass"
        return replace(decision, verdict="inconclusive", why=f"{why} ({decision.why})")
    return decision


def gated_values(found: Sequence[Block]) -> dict[str, list[float]]:
    """Return the values that a decision goes by, of good blocks: of all metrics that the comparison gates."""
    each = [values(block) for block in found if block.good]
    names = asked(found, "gated")
    return {name: [own[name] for own in each if name in own] for name in names}


def asked(found: Sequence[Block], what: Literal["metrics", "gated"] = "metrics") -> list[str]:
    """Return the metrics that a comparison is about, or those that it gates; nothing without a block."""
    return [str(name) for block in found[:1] for name in workload(block)["comparison"][what]]


def workload(block: Block) -> Mapping[str, Any]:
    """Return what was asked for, as the row of A has it."""
    found: Mapping[str, Any] = block.arms["reference"].workload
    return found


def label(block: Block, side: str) -> str:
    """Return the name of a side by all that is not the default."""
    return str(arm(block, side)["label"])


def arm(block: Block, side: str) -> Mapping[str, Any]:
    """Return one side as its rows describe it."""
    found: Mapping[str, Any] = block.arms["reference" if side == "A" else "compared"].workload["arm"]
    return found


def values(block: Block) -> dict[str, float]:
    """Return the value of each metric that the block has; a figure of zero makes a value that is no number."""
    found = {metric: _worse(metric, _of_side(block, "B", metric) - _of_side(block, "A", metric)) for metric in TIMED}
    if all(len(_readings(block, side)) > 1 for side in "AB"):
        found["memory"] = _ln(per_fetch(block, "B")) - _ln(per_fetch(block, "A"))
    return {name: value for name, value in found.items() if name in workload(block)["comparison"]["metrics"]}


def controls_of(block: Block) -> dict[str, float]:
    """Return the value of each control: of the gated metrics that are timed, or of CPU time where none is."""
    names = set(workload(block)["comparison"]["gated"])
    return {
        name: _worse(metric, _ln(_figure(block, "placebo", metric)) - _ln(_figure(block, "reference", metric)))
        for name, metric in CONTROLS.items()
        if metric in names or (metric == "cpu_per_page" and not names & set(TIMED))
    }


def series(each: Sequence[Values]) -> dict[str, list[float]]:
    """Return the values of each name over the blocks that have it, in their order."""
    names = dict.fromkeys(name for own in each for name in own)
    return {name: [own[name] for own in each if name in own] for name in names}


def figure(good: Sequence[Block], side: str, metric: str) -> float:
    """Return the median over the blocks of what a side takes.

    CPU time per page in nanoseconds, pages per second, or bytes of user memory per fetch in flight; NaN without blocks
    that have it.
    """
    if metric == "memory":
        found = [per_fetch(block, side) for block in good if len(_readings(block, side)) > 1]
    else:
        found = [math.exp(_of_side(block, side, metric)) for block in good]
    return median(found) if found else math.nan


def moves_throughput(rows: Sequence[Row]) -> bool:
    """Tell whether more CPU time makes the throughput of these arms clearly lower: their core is full, or would be."""
    return all(
        core_share(row) >= LEAST_SHARE
        or row.workload["in_flight"]
        >= CLEARLY_ABOVE * knee(row.workload["mean_latency_ns"], row.measured["cpu_per_page_ns"])
        for row in rows
    )


def core_share(row: Row) -> float:
    """Return the share of its core that an arm used in its fullest window: others can only take from it."""
    return max((one["cpu_ns"] / one["wall_ns"] for one in row.measured["windows"]), default=0.0)


def per_fetch(block: Block, side: str) -> float:
    """Return the user memory that a further fetch in flight takes, in bytes; raises IndexError without two readings."""
    (few, low), (many, high) = _readings(block, side)[:2]
    return (high - low) / (many - few)


def why_no_memory(found: Sequence[Block]) -> str | None:
    """Return why memory has no figure: the first reading that is not to be believed."""
    red = [row for block in found for own in block.memory.values() for row in own if not row.valid]
    return reason(red[0]) if red else None


def _readings(block: Block, side: str) -> list[tuple[int, int]]:
    """Return how many were in flight and how many bytes that took, by size; of valid rows only."""
    rows = [row for row in block.memory.get(side, ()) if row.valid]
    return sorted((row.measured["held_in_flight"], row.measured["held_uss_bytes"]) for row in rows)


def _of_side(block: Block, side: str, metric: str) -> float:
    """Return the logarithm of a figure of a side; of A the mean of both measurements."""
    roles = ("reference", "placebo") if side == "A" else ("compared",)
    return fmean(_ln(_figure(block, role, metric)) for role in roles)


def _figure(block: Block, role: str, metric: str) -> float:
    measured = block.arms[role].measured
    return float(measured["cpu_per_page_ns" if metric == "cpu_per_page" else "pages_per_s"])


def _worse(metric: str, logarithm: float) -> float:
    return -logarithm if metric == "throughput" else logarithm


def failed(row: Row) -> bool:
    """Tell whether a row is a failure of its arm: it broke off or was wrong, or broke a rule that the arm can keep.

    A reading of memory that is red is no failure: it gives no figure.
    """
    if row.status != "ok":
        return not row.measured.get("server_lost")
    return row.kind == "arm" and any(check.name not in OUTSIDE for check in row.failed_checks)


def reason(row: Row) -> str:
    """Return why a row is not valid."""
    if row.status != "ok":
        return str(row.reason)
    return "; ".join(f"{check.name}: {check.detail}" for check in row.failed_checks)


def _names(row: Row) -> list[str]:
    return [check.name for check in row.failed_checks] or [str(row.reason)]


def _ln(value: float) -> float:
    """Return the logarithm; of nothing, and of less, NaN, which ``decide`` answers with a sentence."""
    return math.log(value) if value > 0 else math.nan
