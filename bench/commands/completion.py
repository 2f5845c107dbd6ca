"""``inflight completion``, and the completions themselves.

A shell runs this at every Tab, so each function imports only what it needs.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from click.shell_completion import CompletionItem, get_completion_class

PROGRAM, VARIABLE = "inflight", "_INFLIGHT_COMPLETE"
"""The name of the program, and the variable with which a shell asks for completions (click derives it)."""
SHELLS = ("bash", "zsh", "fish")
RESULTS = Path("results")


class CompletionError(Exception):
    """An unknown shell; the message names the known ones."""


REFUSALS = (CompletionError,)


def run(*, shell: str | None) -> int:
    """Print the script for a shell, by default that of $SHELL; return 0. Raises CompletionError for an unknown one."""
    print(script(shell or named_by(os.environ.get("SHELL", ""))))
    return 0


def named_by(path: str) -> str:
    """Return the shell of a path such as /bin/bash. Raises CompletionError if it is unknown."""
    name = Path(path).name
    if name not in SHELLS:
        what = f"$SHELL is {path}" if path else "$SHELL is not set"
        raise CompletionError(f"{what}: name the shell, as in `inflight completion bash`; known: {', '.join(SHELLS)}")
    return name


def script(shell: str) -> str:
    """Return the script that a shell must run to complete the command lines of this program."""
    from inflight.bench.cli import main

    completion = get_completion_class(shell)
    assert completion is not None, shell
    return completion(main, {}, PROGRAM, VARIABLE).source().strip("\n")


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
    from inflight.bench.conformance import RULES

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
