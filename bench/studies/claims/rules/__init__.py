"""From rows to verdicts: one rule a claim, each a pure function of the claim's rows. The package above has the claims.

A rule takes rows as they come, failed, skipped and red ones too, and never raises for them: where the valid ones are
too few, or an interval lies across the rule's boundary, the outcome is ``inconclusive`` and says why; where no trial
was started, it is ``not tested``.
"""

from collections.abc import Callable, Sequence

from bench.core.rows import Row
from bench.studies.claims.rules import behaviour, ceilings, coroutines, crowds, demonstrations, memory, programs, speed
from bench.studies.claims.rules.outcome import WORDS, Kind, Outcome, Value, Verdict, Word

__all__ = ["RULES", "WORDS", "Kind", "Outcome", "Value", "Verdict", "Word"]

Rule = Callable[[Sequence[Row]], Outcome]

RULES: dict[str, Rule] = {
    "thread-memory": memory.thread_memory,
    "coroutine-memory": memory.coroutine_memory,
    "memory-ratio": memory.memory_ratio,
    "many-coroutines": coroutines.many_coroutines,
    "thread-failure": ceilings.thread_failure,
    "threads-before-sockets": ceilings.threads_before_sockets,
    "c10k": ceilings.c10k,
    "async-not-faster": speed.async_not_faster,
    "async-sleepy": crowds.async_sleepy,
    "diminishing-returns": crowds.diminishing_returns,
    "callbacks-efficient": speed.callbacks_efficient,
    "spin-wastes": demonstrations.spin_wastes,
    "select-scales": programs.select_scales,
    "pooling-pays": speed.pooling_pays,
    "grow-on-demand": demonstrations.grow_on_demand,
    "stack-ripping": behaviour.stack_ripping,
    "races": programs.races,
    "redirects-coalesce": behaviour.redirects_coalesce,
    "cancel-workers": behaviour.cancel_workers,
    "no-gil": speed.no_gil,
    "xkcd": demonstrations.xkcd,
}
"""The rule of each claim, by the claim's id."""
