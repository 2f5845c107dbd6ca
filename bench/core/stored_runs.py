"""Stored runs: the newest run in a folder of results, and the machine of a run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inflight.bench.core.rows import MACHINE_FILE, ROWS_FILE, RowsError


def is_run(folder: Path) -> bool:
    """Tell whether a folder holds at least one row of a run."""
    path = folder / ROWS_FILE
    return path.is_file() and path.stat().st_size > 0


def newest(results: Path, wanted: Callable[[Path], bool] = is_run, what: str = "run") -> Path:
    """Return the newest run in a folder of results; names of runs begin with the time. Raises RowsError without one."""
    try:
        folders = sorted((path for path in results.iterdir() if path.is_dir()), reverse=True)
    except OSError as error:
        raise RowsError(f"no {what} in {results}: {error.strerror}; `inflight run` makes one") from error
    for folder in folders:
        if is_run(folder) and wanted(folder):
            return folder
    raise RowsError(f"no {what} in {results}; `inflight run` makes one, or name its folder")


def machine(folder: Path) -> dict[str, Any]:
    """Return what ``machine.json`` of a run says; empty without that file. Raises RowsError if it cannot be read."""
    path = folder / MACHINE_FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise RowsError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise RowsError(f"{path} is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise RowsError(f"{path} does not describe a machine: it holds no JSON object")
    return found
