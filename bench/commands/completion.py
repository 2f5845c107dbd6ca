"""What the shell's Tab key completes besides commands and options; click asks at every Tab, so imports are late."""

import os
from collections.abc import Iterable
from pathlib import Path

from click.shell_completion import CompletionItem

RESULTS = Path("results")


def presets(incomplete: str) -> list[CompletionItem]:
    """Complete a preset, or if none matches a file."""
    from inflight.bench.plan.experiment import preset_names

    return _beginning(incomplete, preset_names()) or [CompletionItem(incomplete, type="file")]


def strategy(incomplete: str) -> list[CompletionItem]:
    """Complete a strategy, or if none matches a file."""
    from inflight import strategies

    return _beginning(incomplete, strategies.names()) or [CompletionItem(incomplete, type="file")]


def claim_ids(incomplete: str) -> list[CompletionItem]:
    """Complete the id of a claim."""
    from inflight.bench.claims import claims

    return _beginning(incomplete, claims.ids())


def rules(incomplete: str) -> list[CompletionItem]:
    """Complete a rule of the conformance suite."""
    from inflight.conformance import RULES

    return _beginning(incomplete, RULES)


def resources(incomplete: str) -> list[CompletionItem]:
    """Complete a resource of ``inflight limits``."""
    from inflight.bench.plan.bare import RESOURCES

    return _beginning(incomplete, RESOURCES)


def stored_runs(incomplete: str) -> list[CompletionItem]:
    """Complete a run in results/ or in the typed folder, or if none matches a folder."""
    return _runs(incomplete) or [CompletionItem(incomplete, type="dir")]


def stored_runs_and_files(incomplete: str) -> list[CompletionItem]:
    """Complete a run, or if none matches a file."""
    return _runs(incomplete) or [CompletionItem(incomplete, type="file")]


def _runs(incomplete: str) -> list[CompletionItem]:
    from inflight.bench.rows import files as rows

    parent = Path(os.path.dirname(incomplete)) if "/" in incomplete else RESULTS  # noqa: PTH120  (Path drops a last /)
    return _beginning(incomplete, list(map(str, rows.folders_in(parent))))


def _beginning(incomplete: str, known: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in known if name.startswith(incomplete)]
