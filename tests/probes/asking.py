"""Run a probe in this process, or as the harness does: as a process, with one line in and one line out."""

import json
import subprocess
import sys
from typing import Any

from inflight.bench.measure.worker.program import measure
from inflight.bench.plan.bare import PROBES
from tests.patience import FOREVER_S


def run(name: str, line: str | bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    """Start the program of a probe with this standard input, and wait for the end."""
    command = [sys.executable, "-P", "-m", "inflight.bench.measure.worker.program", PROBES[name]]
    data = line.encode() if isinstance(line, str) else line
    return subprocess.run(command, input=data, capture_output=True, check=False)


def ask(name: str, base: str | None = None, **arguments: Any) -> dict[str, Any]:
    """Return what a probe measures in this process."""
    answer: dict[str, Any] = json.loads(json.dumps(measure(PROBES[name], arguments, base)))
    assert answer.items() >= arguments.items()
    return answer


def ask_process(name: str, base: str | None = None, **arguments: Any) -> dict[str, Any]:
    """Return what a probe measured; it must succeed and print nothing else."""
    done = run(
        name,
        line=json.dumps(
            {
                "arguments": arguments,
                "base": base,
                "lifetime_s": FOREVER_S,
            }
        )
        + "\n",
    )
    assert done.returncode == 0, done.stderr.decode()
    assert not done.stderr
    (answer,) = done.stdout.splitlines()
    (item,) = json.loads(answer).items()
    assert item[0] == "measured"
    found: dict[str, Any] = item[1]
    assert found.items() >= arguments.items()
    return found
