"""Whether this machine allows a trial: checked before anything is started."""

from functools import lru_cache

from inflight import strategies
from inflight.bench.measure import host, limits
from inflight.bench.measure.server import loopback_lack
from inflight.bench.plan.arm import ArmTrial
from inflight.bench.plan.bare import WITH_SOCKET, BareTrial
from inflight.bench.plan.trials import RowTrial, Trial

SPARE_PORTS = 128
"""Local ports that are needed besides those of open connections: the server's own, and closed ones in TIME_WAIT."""
FEW_THREADS = 1000
"""Number of threads up to which the limits are not checked: every machine can start them."""


def shortage(trial: RowTrial) -> str | None:
    """Describe the limit that forbids this trial, and what it allows; None when none does."""
    if isinstance(trial, ArmTrial):
        lack = _of_arm(trial)
    else:
        lack = _of_bare(trial) if isinstance(trial, BareTrial) else _of_crawl(trial)
    return lack or loopback_lack()


def _of_ports(in_flight: int) -> str | None:
    """Describe the range of local ports that forbids this many connections to one port; None when it does not."""
    ports, needed = host.ephemeral_ports(), in_flight + SPARE_PORTS
    if ports is None or needed <= ports:
        return None
    name = "net.ipv4.ip_local_port_range"
    return f'{in_flight:,} in flight need {needed:,} ports, and {name} has {ports:,}; sysctl -w {name}="1024 65535"'


def _of_arm(trial: ArmTrial) -> str | None:
    arm = trial.arm
    threads = arm.in_flight * strategies.describe(arm.strategy).threads_each if arm.repository is None else 0
    per_fetch = arm.connection == "per-fetch"
    return (
        limits.descriptor_shortage(arm.in_flight, per_fetch=per_fetch)
        or limits.server_shortage([(arm.in_flight, arm.connection == "per-fetch") for arm in trial.block.arms])
        or _of_ports(arm.in_flight)
        or _of_threads(threads)
    )


def _of_crawl(trial: Trial) -> str | None:
    in_flight = trial.workload.in_flight
    return (
        limits.descriptor_shortage(in_flight, per_fetch=_opens_again(trial))
        or _of_ports(trial.reachable)
        or _of_threads(threads_needed(trial))
    )


def descriptors_needed(trial: Trial) -> int:
    """Return how many descriptors the worker of a trial may need."""
    return limits.descriptors_needed(trial.workload.in_flight, per_fetch=_opens_again(trial))


def threads_needed(trial: Trial) -> int:
    """Return how many threads the model needs for its fetches, besides its first one."""
    return trial.reachable * trial.threads_each


@lru_cache
def threads_allowed() -> int | None:
    """Return how many threads the limits that count threads leave to this process; None where it is unknown.

    Read once per run, without starting threads, which only ``shortage`` does for many threads.
    """
    ceilings = limits.known("threads")
    return int(ceilings[0].most) if ceilings else None


def _opens_again(trial: Trial) -> bool:
    """Return whether a connection may be opened before the last one is closed."""
    workload = trial.workload
    return workload.connection == "per-fetch" and workload.site.pages > workload.in_flight


def _of_bare(trial: BareTrial) -> str | None:
    if trial.strategy == "thread":
        return _of_threads(trial.values["n"])
    if trial.kind == "open":
        return limits.descriptor_shortage(trial.values["users"], per_fetch=False)
    return limits.descriptor_shortage(trial.values["n"], per_fetch=False) if trial.strategy in WITH_SOCKET else None


@lru_cache
def _of_threads(threads: int) -> str | None:
    """Describe the limit that forbids this many threads. Cached, because the calibration starts threads."""
    return limits.thread_shortage(threads) if threads > FEW_THREADS else None
