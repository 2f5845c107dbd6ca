"""Whether this machine allows a trial: checked before anything is started, so that a plan is refused and not a trial.

``measure.run.judge`` calls ``shortages`` for each trial of a plan. ``blocks.comparing`` calls it for a block of ``ab``,
and ``tls_shortage`` for the memory trials. ``validity`` compares the needs with what the worker really had. What is
checked: descriptors, local ports, threads and the memory of TLS. ``limits`` knows what the machine has.
"""

from functools import lru_cache

from inflight.bench.measure import host, limits
from inflight.bench.measure.limits.facts import available_bytes
from inflight.bench.measure.server import loopback_lack
from inflight.bench.plan.bare import WITH_SOCKET
from inflight.bench.plan.trial import Trial, row_trials

SPARE_PORTS = 128
"""Local ports that are needed besides those of open connections: the server's own, and closed ones in TIME_WAIT."""
FEW_THREADS = 1000
"""Number of threads up to which the limits are not checked: every machine can start them."""


def shortages(trial: Trial) -> dict[str, str]:
    """Return the limits that forbid the rows of a trial, each with what it allows, by the id of the row."""
    reasons = {part.id: _lack(part) or loopback_lack() for part in row_trials(trial)}
    return {row_id: reason for row_id, reason in reasons.items() if reason}


def _lack(trial: Trial) -> str | None:
    """Return the limit that forbids one row of a trial, with the remedy; None when none does."""
    workload = trial.workload
    if trial.record.IS_CRAWL:
        arms = () if trial.block is None else trial.block.arms
        gates = [(arm.in_flight, arm.connection == "per-fetch") for arm in arms]
        return (
            tls_shortage(trial)
            or limits.descriptor_shortage(workload.in_flight, per_fetch=_opens_again(trial))
            or (limits.server_shortage(gates) if gates else None)
            or _of_ports(trial.reachable)
            or _of_threads(threads_needed(trial))
        )
    match trial.kind:
        case "open":
            return limits.descriptor_shortage(workload.users, per_fetch=False)
        case "idle" if workload.what == "thread":
            return _of_threads(workload.n)
        case "idle" if workload.what in WITH_SOCKET:
            return limits.descriptor_shortage(workload.n, per_fetch=False)
    return None


def tls_shortage(trial: Trial) -> str | None:
    """Describe why a crawl of https cannot be: its strategy, or memory; None if it can, or if it is one of http.

    All arms of a block are alive at once. So an arm also needs the memory of those that need no more than it.
    """
    if not trial.workload.tls:
        return None
    model = trial.models[trial.name]
    if model.tls_lack:
        return f"{model.name} {model.tls_lack}"
    together = row_trials(trial.block) if trial.block else [trial]
    together = [part for part in together if 0 < tls_bytes(part) <= tls_bytes(trial)]
    needed, usable = sum(map(tls_bytes, together)), available_bytes() / 2  # the other half is the server's
    if needed <= usable:
        return None
    connections = sum(part.reachable for part in together)
    names = dict.fromkeys(part.models[part.name].name for part in together)
    return (
        f"{connections:,} connections over TLS need {needed / 1e9:,.1f} GB of memory with {', '.join(names)}, "
        f"and {usable / 1e9:,.1f} GB can be used, half of what is available; "
        "the server needs as much, so a larger memory budget changes nothing"
    )


def tls_bytes(trial: Trial) -> int:
    """Return the memory that the connections of one row need over TLS at most; 0 without TLS."""
    if not getattr(trial.workload, "tls", False):
        return 0
    return trial.reachable * trial.models[trial.name].tls_bytes_each


def _of_ports(in_flight: int) -> str | None:
    """Describe the range of local ports that forbids this many connections to one port; None when it does not."""
    ports, needed = host.ephemeral_ports(), in_flight + SPARE_PORTS
    if ports is None or needed <= ports:
        return None
    name = "net.ipv4.ip_local_port_range"
    return f'{in_flight:,} in flight need {needed:,} ports, and {name} has {ports:,}; sysctl -w {name}="1024 65535"'


def descriptors_needed(trial: Trial) -> int:
    """Return how many descriptors the worker of a trial may need."""
    return limits.descriptors_needed(trial.workload.in_flight, per_fetch=_opens_again(trial))


def threads_needed(trial: Trial) -> int:
    """Return how many threads the model needs for its fetches, besides its first one."""
    return trial.reachable * trial.models[trial.name].threads_each


@lru_cache
def threads_allowed() -> int | None:
    """Return how many threads the limits that count threads leave to this process; None where it is unknown.

    Read once per run, without starting threads, which only ``limits.thread_shortage`` does, for many threads.
    """
    ceilings = limits.known("threads")
    return int(ceilings[0].most) if ceilings else None


def _opens_again(trial: Trial) -> bool:
    """Return whether a connection may be opened before the last one is closed: then a fetch may need two."""
    workload = trial.workload
    has_more = trial.kind == "arm" or workload.site.pages > workload.in_flight  # too many cannot have an endless site
    return workload.connection == "per-fetch" and has_more


@lru_cache
def _of_threads(threads: int) -> str | None:
    """Describe the limit that forbids this many threads. Cached, because the calibration starts threads."""
    return limits.thread_shortage(threads) if threads > FEW_THREADS else None
