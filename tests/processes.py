"""Programs that are run to their end."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def run_to_end(
    command: Sequence[str | Path], *, check: bool = False, **options: Any
) -> "subprocess.CompletedProcess[str]":
    """Run a program; return how it ended, and what it wrote. ``options`` are those of ``subprocess.run``."""
    return subprocess.run(command, capture_output=True, text=True, check=check, **options)
