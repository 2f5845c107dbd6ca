"""The versions and the code that all machines of a swarm must have in common."""

import hashlib
import platform
from importlib.metadata import version
from typing import Any

from inflight.bench.measure.process import PACKAGE

SAME_EVERYWHERE = ("strategies", "fake_server")


def identity() -> dict[str, str]:
    """Return the versions of inflight, Locust and Python, and a digest of the code of strategies and server."""
    return {
        "inflight": version("inflight-bench"),
        "locust": version("locust"),
        "python": platform.python_version(),
        "code": _digest(),
    }


def difference(ours: dict[str, str], theirs: dict[str, Any]) -> str | None:
    """Return a clause about the values that differ; None when all are equal."""
    unlike = [
        f"{name} {theirs.get(name)} there, {value} here" for name, value in ours.items() if theirs.get(name) != value
    ]
    return "; ".join(unlike) or None


def _digest() -> str:
    """Return a digest of all Python files of strategies and server."""
    found = hashlib.sha256()
    for package in SAME_EVERYWHERE:
        for path in sorted((PACKAGE / package).rglob("*.py")):
            found.update(str(path.relative_to(PACKAGE)).encode() + path.read_bytes())
    return found.hexdigest()[:16]
