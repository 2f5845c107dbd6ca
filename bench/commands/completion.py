"""What ``inflight completion`` does, and what a shell is offered while a command line is typed.

A shell asks at every Tab, so each function here imports no more than it needs.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from click.shell_completion import CompletionItem, get_completion_class

PROGRAM, VARIABLE = "inflight", "_INFLIGHT_COMPLETE"
"""The name that is typed, and the variable by which a shell's script asks it (click makes the one of the other)."""
SHELLS = ("bash", "zsh", "fish")
RESULTS = Path("results")


class CompletionError(Exception):
    """A shell that is not known; the message says which are."""


REFUSALS = (CompletionError,)


def run(*, shell: str | None) -> int:
    """Print the script for a shell. Returns 0. Raises CompletionError without a shell that is known."""
    print(script(shell or named_by(os.environ.get("SHELL", ""))))
    return 0


def named_by(path: str) -> str:
    """Return the shell of a path such as /bin/bash. Raises CompletionError for one that is not known."""
    name = Path(path).name
    if name not in SHELLS:
        what = f"$SHELL is {path}" if path else "$SHELL is not set"
        raise CompletionError(f"{what}: name the shell, as in `inflight completion bash`; known: {', '.join(SHELLS)}")
    return name


def script(shell: str) -> str:
    """Return what a shell has to read, once, to complete this program's command lines."""
    from inflight.bench.cli import main

    completion = get_completion_class(shell)
    assert completion is not None, shell
    return completion(main, {}, PROGRAM, VARIABLE).source().strip("\n")


def presets(incomplete: str) -> list[CompletionItem]:
    """Return the presets that begin so; where none does, let the shell look for a file."""
    from inflight.bench.core.experiment import preset_names

    return _beginning(incomplete, preset_names()) or [CompletionItem(incomplete, type="file")]


def strategy(incomplete: str) -> list[CompletionItem]:
    """Return the strategies that begin so."""
    from inflight import strategies

    return _beginning(incomplete, strategies.names())


def strategy_list(incomplete: str) -> list[CompletionItem]:
    """Return the last name of a list with commas, completed; one that is there already is not offered again."""
    from inflight import strategies

    *chosen, _begun = incomplete.split(",")
    return _beginning(incomplete, (",".join([*chosen, name]) for name in strategies.names() if name not in chosen))


def claim_ids(incomplete: str) -> list[CompletionItem]:
    """Return the claims that begin so."""
    from inflight.bench.studies import claims

    return _beginning(incomplete, claims.ids())


def resources(incomplete: str) -> list[CompletionItem]:
    """Return the resources that begin so."""
    from inflight.bench.core.bare import RESOURCES

    return _beginning(incomplete, RESOURCES)


def stored_runs(incomplete: str) -> list[CompletionItem]:
    """Return the run folders that begin so: of results/, or of the folder that was typed; where none does, folders."""
    return _runs(incomplete) or [CompletionItem(incomplete, type="dir")]


def stored_runs_and_files(incomplete: str) -> list[CompletionItem]:
    """Return the run folders that begin so; where none does, files."""
    return _runs(incomplete) or [CompletionItem(incomplete, type="file")]


def _runs(incomplete: str) -> list[CompletionItem]:
    from inflight.bench.core.rows import ROWS_FILE

    parent = Path(os.path.dirname(incomplete)) if "/" in incomplete else RESULTS  # noqa: PTH120  (Path drops a last /)
    return _beginning(incomplete, sorted(str(path.parent) for path in parent.glob(f"*/{ROWS_FILE}")))


def _beginning(incomplete: str, known: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in known if name.startswith(incomplete)]
