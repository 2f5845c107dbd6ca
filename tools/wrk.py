"""Run wrk, an HTTP load generator in C (https://github.com/wg/wrk), and parse its report.

It uses one thread and keep-alive connections in a closed loop: each connection sends its next request after the last
one was answered.
"""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass

from inflight.bench.measure.process import TrialError

MISSING = "wrk is not installed; get it with: apt install wrk (Debian, Ubuntu), brew install wrk (macOS)"
PATIENCE_S = 30
"""Timeout for wrk to end after its running time."""

_UNIT_NS = {"us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000}
_MEDIAN = re.compile(r"^ +50% +([0-9.]+)(us|ms|s|m)$", re.MULTILINE)
_TOTAL = re.compile(r"^ +(\d+) requests in ", re.MULTILINE)
_RATE = re.compile(r"^Requests/sec: +([0-9.]+)$", re.MULTILINE)
_SOCKETS = re.compile(r"(connect|read|write|timeout) (\d+)")
_STATUSES = re.compile(r"^ +Non-2xx or 3xx responses: (\d+)$", re.MULTILINE)


class WrkError(TrialError):
    """wrk failed, or printed no report; the message has its output."""


@dataclass(frozen=True, slots=True)
class Driven:
    """The report of wrk."""

    requests: int
    per_s: float
    failed: int
    """Number of requests or connections that failed."""
    p50_ns: int | None
    """Median time from sending a request to the end of its response; None without a response."""


@dataclass(frozen=True, slots=True)
class Wrk:
    """The program, and the cores that it may use."""

    path: str
    cpus: set[int] | None

    def drive(self, url: str, connections: int, seconds: int) -> Driven:
        """Load a URL. Raises WrkError when wrk fails."""
        cpus = self.cpus
        words = ["-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout", "10s", url]
        try:
            done = subprocess.run(
                [self.path, *words],
                capture_output=True,
                text=True,
                check=False,
                timeout=seconds + PATIENCE_S,
                # Set in the child, so that wrk's thread has the same cores. The harness has no other threads.
                preexec_fn=None if cpus is None else lambda: os.sched_setaffinity(0, cpus),
            )
        except subprocess.TimeoutExpired as error:
            raise WrkError(f"wrk was not done after {error.timeout} s and was killed") from error
        if done.returncode:
            raise WrkError(f"wrk failed on {url}: {done.stderr.strip() or done.stdout.strip()}")
        return parse(done.stdout)


def find() -> str | None:
    """Return the path of wrk; None if it is not installed."""
    return shutil.which("wrk")


def parse(printed: str) -> Driven:
    """Parse wrk's report. Raises WrkError for any other text."""
    total, rate, median = _TOTAL.search(printed), _RATE.search(printed), _MEDIAN.search(printed)
    if total is None or rate is None:
        raise WrkError(f"wrk printed no report: {' '.join(printed.split())[:100]!r}")
    failed = sum(map(int, _STATUSES.findall(printed)))
    if sockets := re.search(r"^ +Socket errors: (.*)$", printed, re.MULTILINE):
        failed += sum(int(number) for _, number in _SOCKETS.findall(sockets[1]))
    p50_ns = 0 if median is None else round(float(median[1]) * _UNIT_NS[median[2]])
    return Driven(int(total[1]), float(rate[1]), failed, p50_ns or None)  # wrk prints 0 when all timed out
