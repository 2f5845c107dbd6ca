"""How often the decision rule was wrong on blocks in the order of their measuring. Pure.

A block here is a mapping from metric or control to its value, as ``decide`` takes them.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from bench.studies.compare.decide import DESIGNED, Decision, Rule, decide
from bench.studies.compare.simulation import Counts

Block = Mapping[str, float]


def real(blocks: Sequence[Block], controls: Collection[str], rule: Rule = DESIGNED) -> Counts:
    """Count the verdicts of consecutive decisions on blocks in the order of their measuring; none shares a block.

    What is left at the end and reaches no final decision counts nowhere.
    """
    return _counts(list(_consecutive(blocks, controls, rule)))


def upper_bound(alarms: int, decisions: int, confidence: float = 0.95) -> float:
    """Return the one-sided upper bound of a rate (Clopper and Pearson, 1934); 1 for no decision."""
    return _bound(alarms, decisions, "less", confidence)[1] if decisions else 1.0


def lower_bound(alarms: int, decisions: int, confidence: float = 0.95) -> float:
    """Return the one-sided lower bound of a rate (Clopper and Pearson, 1934); 0 for no decision."""
    return _bound(alarms, decisions, "greater", confidence)[0] if decisions else 0.0


def _bound(alarms: int, decisions: int, alternative: str, confidence: float) -> tuple[float, float]:
    from scipy.stats import binomtest

    found = binomtest(alarms, decisions, alternative=alternative).proportion_ci(confidence, method="exact")
    return float(found.low), float(found.high)


def _consecutive(blocks: Sequence[Block], controls: Collection[str], rule: Rule) -> Iterator[Decision]:
    start = 0
    while start < len(blocks):
        decision = _walk(blocks[start : start + rule.looks[-1]], controls, rule)
        if not decision.final:
            return
        yield decision
        start += max(1, decision.blocks)


def _walk(blocks: Sequence[Block], controls: Collection[str], rule: Rule) -> Decision:
    """Decide at one look after the other, until a decision is final or the blocks are used up."""
    names = list(dict.fromkeys(name for block in blocks for name in block))
    for look in rule.looks:
        seen = blocks[:look]
        values = {name: [block[name] for block in seen if name in block] for name in names}
        decision = decide(
            {name: found for name, found in values.items() if name not in controls},
            {name: found for name, found in values.items() if name in controls},
            rule,
        )
        if decision.final or look >= len(blocks):
            break
    return decision


def _counts(decisions: Sequence[Decision]) -> Counts:
    verdicts = [decision.verdict for decision in decisions]
    return Counts(
        alarms=verdicts.count("regression"),
        passes=verdicts.count("pass"),
        inconclusive=verdicts.count("inconclusive"),
        decisions=len(decisions),
        mean_blocks=sum(decision.blocks for decision in decisions) / len(decisions) if decisions else 0.0,
    )
