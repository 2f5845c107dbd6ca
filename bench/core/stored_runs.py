"""Stored runs: which folder of results is the newest one, for the commands that are not told which."""

from collections.abc import Callable
from pathlib import Path

from inflight.bench.core.rows import ROWS_FILE, RowsError


def is_run(folder: Path) -> bool:
    """Tell whether a folder holds the rows of a run, at least one of them."""
    path = folder / ROWS_FILE
    return path.is_file() and path.stat().st_size > 0


def newest(results: Path, wanted: Callable[[Path], bool] = is_run, what: str = "run") -> Path:
    """Return the newest run in a folder of results; their names begin with the time. Raises RowsError without one."""
    try:
        folders = sorted((path for path in results.iterdir() if path.is_dir()), reverse=True)
    except OSError as error:
        raise RowsError(f"no {what} in {results}: {error.strerror}; `inflight run` makes one") from error
    for folder in folders:
        if is_run(folder) and wanted(folder):
            return folder
    raise RowsError(f"no {what} in {results}; `inflight run` makes one, or name its folder")
