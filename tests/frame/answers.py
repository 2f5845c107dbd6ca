"""What the rule for ratios answers to an estimate alone, of a pair that says for itself how far it varies."""

from inflight.bench.frame.ratios import ALONE, Ratio
from inflight.bench.frame.statistics import Estimate


def answer(estimate: Estimate, p: float | None = None) -> str:
    """Return the answer; ``p``: after a correction for several comparisons."""
    ratio = Ratio(estimate, ALONE, (estimate.value, estimate.value))
    return ratio.answer(ratio.in_any_run.p if p is None else p)
