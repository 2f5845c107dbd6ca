"""Compare the calls of two strategies, and print their Python calls per page by module."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any


def rows_of(a: str, b: str) -> list[dict[str, Any]]:
    """Run ``inflight ab``, and return the rows of A and of B."""
    command = [sys.executable, "-m", "inflight", "ab", a, b, "--metric", "calls", "--json", "--quiet"]
    verdict = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout)
    lines = Path(verdict["folder"], "rows.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[:2]]


def by_module(row: dict[str, Any]) -> Counter[str]:
    """Return the calls per page, added up by the file of each function."""
    calls: Counter[str] = Counter()
    for name, per_page in row["measured"]["python_calls"].items():
        module, _, _function = name.partition(":")
        if module.startswith("strategies/core/"):
            module = "strategies/core (shared by all)"
        calls[module] += per_page
    return calls


def main() -> None:
    """Print a line for each module."""
    first, second = sys.argv[1:]
    a, b = map(by_module, rows_of(first, second))
    print(f"{'Python calls per page':34}{first:>16}{second:>16}")
    for module, _ in (a | b).most_common():
        print(f"{module:34}{a[module]:16.0f}{b[module]:16.0f}")
    print(f"{'together':34}{a.total():16.0f}{b.total():16.0f}")


if __name__ == "__main__":
    main()
