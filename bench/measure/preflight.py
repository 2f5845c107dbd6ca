"""Whether this machine allows what a trial asks for: found out before anything is started."""

from functools import lru_cache

from bench.bare import WITH_SOCKET
from bench.measure import limits
from bench.plan import AnyTrial, BareTrial, Trial

FEW_THREADS = 1000
"""So many are not worth a look at the limits: any machine that runs this starts them."""


def shortage(trial: AnyTrial) -> str | None:
    """Say which limit forbids this trial, and what the limit allows; None when none does."""
    return _of_block(trial) if isinstance(trial, BareTrial) else _of_crawl(trial)


def _of_crawl(trial: Trial) -> str | None:
    workload = trial.workload
    again = workload.site.pages > workload.in_flight  # else no connection is opened after another one
    per_fetch = workload.connection == "per-fetch" and again
    return limits.descriptor_shortage(workload.in_flight, per_fetch=per_fetch) or _of_threads(
        trial.reachable * trial.threads_each
    )


def _of_block(trial: BareTrial) -> str | None:
    if trial.strategy == "thread":
        return _of_threads(trial.values["n"])
    return limits.descriptor_shortage(trial.values["n"], per_fetch=False) if trial.strategy in WITH_SOCKET else None


@lru_cache
def _of_threads(threads: int) -> str | None:
    """Say which limit forbids so many threads; looked up once a run, because the look itself starts some."""
    return limits.thread_shortage(threads) if threads > FEW_THREADS else None
