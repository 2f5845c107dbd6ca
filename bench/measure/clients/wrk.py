"""Run wrk, an HTTP load generator in C (https://github.com/wg/wrk), and parse its report.

It uses one thread and keep-alive connections in a closed loop: each connection sends its next request after the last
one was answered.
"""

import os
import re
import resource
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from inflight.bench.measure.process import TrialError

MISSING = "wrk is not installed; get it with: apt install wrk (Debian, Ubuntu), brew install wrk (macOS)"
PATIENCE_S = 30
"""Timeout for wrk to end after its running time."""
LOOK_S = 0.1
"""Interval between two looks at the running program."""

_UNIT_NS = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000, "h": 3_600_000_000_000}
_TIME = r"([0-9.]+)(us|ms|s|m|h)"
_LATENCY = re.compile(rf"^ +Latency +{_TIME} +{_TIME} +{_TIME}", re.MULTILINE)
_QUANTILE = re.compile(rf"^ +(50|90|99)% +{_TIME}$", re.MULTILINE)
_TOTAL = re.compile(r"^ +(\d+) requests in ", re.MULTILINE)
_RATE = re.compile(r"^Requests/sec: +([0-9.]+)$", re.MULTILINE)
_ERRORS = re.compile(r"^ +(Socket errors: .*|Non-2xx or 3xx responses: \d+)$", re.MULTILINE)


class WrkError(TrialError):
    """wrk failed, or printed no report; the message has its output."""


@dataclass(frozen=True, slots=True)
class Driven:
    """The report of wrk."""

    requests: int
    per_s: float
    errors: dict[str, int]
    """Number of errors by kind, as wrk names it; only those that occurred."""
    latency: dict[str, int]
    """Response times from sending a request to the end of its response: ``mean_ns``, ``max_ns``, and with
    ``--latency`` ``p50_ns``, ``p90_ns``, ``p99_ns``. Empty without a response."""

    @property
    def failed(self) -> int:
        """Number of requests or connections that failed."""
        return sum(self.errors.values())


@dataclass(frozen=True, slots=True)
class Used:
    """The use that wrk made of its core."""

    cpu_ns: int
    """CPU time of all children that ended meanwhile (getrusage(2)): no other child may end before wrk."""
    waited_ns: int | None
    """Time that it was ready to run and waited for its core; None where the system does not say."""
    lasted_ns: int


@dataclass(frozen=True, slots=True)
class Wrk:
    """The program, and the cores that it may use."""

    path: str
    cpus: set[int] | None

    def drive(self, url: str, connections: int, seconds: int) -> Driven:
        """Load a URL. Raises WrkError when wrk fails."""
        return self.drive_watched(url, connections, seconds)[0]

    def drive_watched(self, url: str, connections: int, seconds: int) -> tuple[Driven, Used]:
        """Load a URL; return the report, and wrk's use of its core. Raises WrkError when wrk fails."""
        cpus = self.cpus
        words = ["-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout", "10s", url]
        before, begin_ns = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic_ns()
        with subprocess.Popen(
            [self.path, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Set in the child, so that wrk's thread has the same cores. The harness has no other threads.
            preexec_fn=None if cpus is None else lambda: os.sched_setaffinity(0, cpus),  # noqa: PLW1509
        ) as program:
            try:
                printed, complaint, waited_ns = _watch(program, seconds + PATIENCE_S)
            except BaseException:
                program.kill()
                raise
        if program.returncode:
            raise WrkError(f"wrk failed on {url}: {complaint.strip() or printed.strip()}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return parse(printed), Used(round(cpu_s * 1e9), waited_ns, time.monotonic_ns() - begin_ns)


def _watch(program: "subprocess.Popen[str]", patience_s: float) -> tuple[str, str, int | None]:
    """Wait for the program's end; return both outputs, and how long its threads had waited at the last look."""
    waited_ns, give_up_s = None, time.monotonic() + patience_s
    while True:
        try:
            return *program.communicate(timeout=LOOK_S), waited_ns
        except subprocess.TimeoutExpired as error:
            if time.monotonic() > give_up_s:
                raise WrkError(f"wrk was not done after {patience_s} s and was killed") from error
            waited_ns = _waited_ns(program.pid) or waited_ns


def _waited_ns(pid: int) -> int | None:
    """Return how long all threads of a process were ready to run and waited for a core; None where unknown.

    The second field of each /proc/PID/task/TID/schedstat (Documentation/scheduler/sched-stats.rst).
    """
    try:
        texts = [path.read_text(encoding="ascii") for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    except OSError:  # it has just ended
        return None
    return sum(int(text.split()[1]) for text in texts) if texts else None


def find() -> str | None:
    """Return the path of wrk; None if it is not installed."""
    return shutil.which("wrk")


def parse(printed: str) -> Driven:
    """Parse wrk's report. Raises WrkError for any other text."""
    total, rate = _TOTAL.search(printed), _RATE.search(printed)
    if total is None or rate is None:
        raise WrkError(f"wrk printed no report: {' '.join(printed.split())[:100]!r}")
    errors = {name: count for line in _ERRORS.findall(printed) for name, count in _counts(line).items() if count}
    return Driven(int(total[1]), float(rate[1]), errors, _latency(printed))


def _counts(line: str) -> dict[str, int]:
    """Return the number of errors by kind in one line: ``connect 0, read 3`` of sockets, or responses by status."""
    kinds = re.findall(r"(connect|read|write|timeout) (\d+)", line)
    if kinds:
        return {f"socket: {kind}": int(count) for kind, count in kinds}
    return {"status other than 2xx or 3xx": int(line.rpartition(" ")[2])}


def _latency(printed: str) -> dict[str, int]:
    """Return the times of the report; none if they are zeros, which wrk prints when all requests timed out."""
    line = _LATENCY.search(printed)
    if line is None or float(line[1]) == 0:
        return {}
    quantiles = {f"p{share}_ns": _ns(number, unit) for share, number, unit in _QUANTILE.findall(printed)}
    return {"mean_ns": _ns(line[1], line[2]), **quantiles, "max_ns": _ns(line[5], line[6])}


def _ns(number: str, unit: str) -> int:
    return round(float(number) * _UNIT_NS[unit])
