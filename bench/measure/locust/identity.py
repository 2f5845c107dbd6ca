"""What must be the same on all machines of a swarm, or else they would not do the same work."""

import hashlib
import platform
from importlib.metadata import version
from typing import Any

from inflight.bench.measure.process import PACKAGE

SAME_EVERYWHERE = ("strategies", "fake_server")


def identity() -> dict[str, str]:
    """Return versions of ours, of Locust and of Python, and a digest of the code of strategies and server."""
    return {
        "inflight": version("inflight-bench"),
        "locust": version("locust"),
        "python": platform.python_version(),
        "code": _digest(),
    }


def difference(ours: dict[str, str], theirs: dict[str, Any]) -> str | None:
    """Say in one clause what is not the same there; None when all is."""
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
