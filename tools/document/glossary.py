"""The table of docs/glossary.md, from the terms that the pages of runs explain as well."""

from pathlib import Path

from inflight.bench.report.glossary import glossary


def part(_runs: Path, _beside: Path) -> str:
    """Return a line for each term."""
    lines = [f"| {term} | {meaning} |" for term, meaning in glossary()]
    return "\n".join(["| term | meaning |", "|---|---|", *lines])
