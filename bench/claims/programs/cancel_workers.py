"""Show what is left after a crawl, per strategy, and what happens when the workers are not cancelled at the end.

A program of a claim (``claims.programs`` says how it is run). Each crawl runs in a child process (``_workers.py``),
because some of them never end. ``variant`` says how it ends:

- ``cancelled``: the strategy as it is.
- ``left-out``: the same workers, which are not cancelled. asyncio: the loop is closed while they wait. generators: the
  loop continues. thread_pool: the main thread returns.
- ``left-out-run``: asyncio only: the same with ``asyncio.run``, which cancels the remaining tasks itself.
- ``left-out-daemon``: threads only: the same with daemon threads, which the process does not wait for at exit.
"""

import json
import re
import subprocess
import sys
import time
from typing import Any


def installed_strategies() -> tuple[str, ...]:
    """Return the strategies that can run on this machine."""
    from inflight import strategies

    return tuple(name for name in strategies.models() if not strategies.describe(name).lack)


ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "strategy": installed_strategies(),
    "variant": ("cancelled", "left-out", "left-out-run", "left-out-daemon"),
}
"""The arguments of the program with their usual values."""
SITE = {"pages": 40, "links": 5}
"""The site that is crawled."""

LEAVES_OUT = {
    "left-out": ("thread_pool", "generators", "native_asyncio"),
    "left-out-run": ("native_asyncio",),
    "left-out-daemon": ("thread_pool",),
}
"""Strategies that have a program without the cancel, by variant."""
CRAWL_S = 20.0
"""Time limit from the start of a process to its end: below the lifetime that ``_workers`` gives itself."""
EXIT_S = 5.0
"""Time limit from the end of the crawl to the end of the process."""
MAX_LINES = 40
"""Maximum number of lines that the result has of what the child printed."""
_HEADERS = ("Traceback (most recent call last):", "Exception ignored in", "Exception in thread")
"""How a traceback begins."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""What differs from process to process in what is printed."""
_FOLDERS = re.compile(r"(?<![\w.])/(?:[^/\s'\"<>:]+/)+")
"""Matches the folders of a path."""


def measure(base: str, strategy: str, variant: str) -> dict[str, Any]:
    """Crawl once in a child process; return what was left in it, whether it ended, and what it printed."""
    if variant != "cancelled" and strategy not in LEAVES_OUT[variant]:
        why = f"{variant} does not apply to {strategy}: it has no workers, or the same ones as another strategy"
        return {"not_applicable": why}
    order = {"strategy": strategy, "variant": variant, "url": f"{base}/", "site": SITE}
    output, printed, ended = run_child(json.dumps(order))
    if ended and not output:
        raise RuntimeError(f"the child process failed: {printed[-2000:].strip()}")
    lines = [_FOLDERS.sub("", _ADDRESS.sub("", line)) for line in printed.splitlines() if line.strip()]
    return {
        **(json.loads(output) if output else {"pages": 0, "left": None, "error": "the crawl did not end"}),
        "ended": ended,
        "complaint": complaint(lines),
        "printed": lines[:MAX_LINES],
    }


def complaint(lines: list[str]) -> str:
    """Return the first line outside a traceback, else the error of the first traceback; empty for no lines."""
    causes = []
    inside = False
    for line in lines:
        if line.startswith(_HEADERS):
            inside = True
        elif not line.startswith(" "):
            if not inside:
                return line
            causes.append(line)
            inside = False
    return causes[0] if causes else ""


def run_child(order: str) -> tuple[str, str, bool]:
    """Crawl in a child process; return its line on standard output, its standard error, and whether it ended.

    The child prints its line at the end of the crawl. It is killed if it does not end soon afterwards.
    """
    give_up_s = time.monotonic() + CRAWL_S
    command = [sys.executable, "-P", "-m", "inflight.bench.claims.programs._workers"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        output, printed, ended = "", "", True
        try:
            child.stdin.write(order + "\n")
            child.stdin.flush()
            output = read_line(child, give_up_s)
            said_more, printed = child.communicate(timeout=min(EXIT_S, max(0.1, give_up_s - time.monotonic())))
            output += said_more
        except subprocess.TimeoutExpired:
            ended = False
            child.kill()
            said_more, printed = child.communicate()
            output += said_more
        finally:
            child.kill()
    return output, printed, ended


def read_line(child: "subprocess.Popen[str]", give_up_s: float) -> str:
    """Return the child's next line. Raises subprocess.TimeoutExpired when none has come at ``give_up_s``.

    This is a time of time.monotonic().
    """
    import select

    assert child.stdout is not None
    patience_s = max(0.0, give_up_s - time.monotonic())
    if not select.select([child.stdout], [], [], patience_s)[0]:
        raise subprocess.TimeoutExpired(child.args, patience_s)
    return child.stdout.readline()
