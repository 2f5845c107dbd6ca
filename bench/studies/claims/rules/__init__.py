"""From rows to verdicts: one rule per claim, each a pure function of the claim's rows.

A rule names the parts of its claim, each a figure with its boundary; the verdict follows from them (``parts``). Rows
may be of any status, and a rule never raises for them. If too few are valid, or an interval includes a boundary that
matters, the outcome is ``inconclusive``; if no trial was started, it is ``not tested``.
"""

from collections.abc import Callable, Sequence

from inflight.bench.rows.files import Row
from inflight.bench.studies.claims.rules import crawls, interpreters, libraries, limits, loops, memory, programs, speed
from inflight.bench.studies.claims.verdicts import Outcome

Rule = Callable[[Sequence[Row]], Outcome]

RULES: dict[str, Rule] = {
    "thread-memory": memory.thread_memory,
    "coroutine-memory": memory.coroutine_memory,
    "memory-ratio": memory.memory_ratio,
    "many-coroutines": memory.many_coroutines,
    "thread-failure": limits.thread_failure,
    "threads-before-sockets": limits.threads_before_sockets,
    "c10k": limits.c10k,
    "async-not-faster": speed.async_not_faster,
    "async-sleepy": speed.async_sleepy,
    "diminishing-returns": speed.diminishing_returns,
    "callbacks-efficient": speed.callbacks_efficient,
    "spin-wastes": programs.spin_wastes,
    "select-scales": programs.select_scales,
    "pooling-pays": speed.pooling_pays,
    "grow-on-demand": crawls.grow_on_demand,
    "stack-ripping": programs.stack_ripping,
    "races": programs.races,
    "redirects-coalesce": crawls.redirects_coalesce,
    "cancel-workers": programs.cancel_workers,
    "no-gil": interpreters.no_gil,
    "xkcd": crawls.xkcd,
    "uvloop-faster": loops.uvloop_faster,
    "streams-cost": loops.streams_cost,
    "await-is-free": loops.await_is_free,
    "eager-tasks": loops.eager_tasks,
    "client-collapse": libraries.client_collapse,
    "gevent-like-threads": libraries.gevent_like_threads,
    "convoy": loops.convoy,
    "thread-megabytes": memory.thread_megabytes,
    "free-threading-cost": interpreters.free_threading_cost,
    "free-threading-scales": interpreters.free_threading_scales,
    "newer-is-faster": interpreters.newer_is_faster,
    "incremental-gc-memory": interpreters.incremental_gc_memory,
    "arena-max": memory.arena_max,
}
"""The rule of each claim, by the claim's id."""
