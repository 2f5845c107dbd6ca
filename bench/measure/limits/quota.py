"""CPU quotas of control groups, as of ``docker --cpus``, and how often the kernel has throttled the groups.

A quota is CPU time per period, usually 100 ms (Documentation/scheduler/sched-bwc.rst). When all processes of a group
together have used it up, the kernel stops them until the next period.
"""

from operator import sub
from pathlib import Path

from msgspec.structs import astuple

from inflight.bench.measure import procfs
from inflight.bench.rows.parts import Quota, together

_LIMITS = ("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us")
"""Files with a quota and its period, in this order: the first one (version 2), or the others (version 1)."""


def read(root: Path = Path("/")) -> Quota | None:
    """Return the tightest CPU quota of this process's control group and its ancestors; None without one.

    Its counts are sums over all of them that have a quota, because each may throttle. No limit is written as ``max`` or
    -1, which is no number for ``procfs.wholes``.
    """
    quotas = []
    group, mounted = (procfs.text_of(f"{root}/proc/self/{name}") for name in ("cgroup", "mountinfo"))
    for folder in procfs.cgroup_folders(group, mounted, "cpu"):
        limit = [number for name in _LIMITS for number in procfs.wholes(procfs.text_of(f"{root}{folder}/{name}"))]
        stat = procfs.keyed(procfs.text_of(f"{root}{folder}/cpu.stat"))
        if len(limit) == 2:
            time_ns = stat.get("throttled_time", 1000 * stat.get("throttled_usec", 0))
            quotas.append(Quota(limit[0] / limit[1], stat.get("nr_periods", 0), stat.get("nr_throttled", 0), time_ns))
    return together(quotas)


def between(before: Quota | None, after: Quota | None) -> Quota | None:
    """Return a quota with what it has counted between two readings; None without one at either moment."""
    return before and after and Quota(after.cores, *map(sub, astuple(after)[1:], astuple(before)[1:]))
