"""What the self-test found, for docs/compare.md: how often a comparison is wrong."""

import json
from pathlib import Path
from typing import Any

from inflight.bench.present.markdown import escaped
from inflight.bench.rows.files import SELFTEST_FILE
from inflight.bench.studies.selftest import show
from tools.document.stored import DocumentError, joined, newest


def part(runs: Path, beside: Path) -> str:
    """Return the finding of the newest self-test, its plot, and its output."""
    run = newest(runs, "selftest")
    picture = run.picture("selftest", "Blocks without a change, and with planted slowdowns", beside)
    read = found(runs)
    told = show.text(read)
    return joined(f"**{escaped(show.title(read))}.**", run.provenance, picture, f"```text\n{told}\n```")


def found(runs: Path) -> dict[str, Any]:
    """Read what the newest self-test has found. Raises DocumentError."""
    path = newest(runs, "selftest").folder / SELFTEST_FILE
    try:
        read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DocumentError(f"{path} does not hold a self-test: {error}") from error
    return read
