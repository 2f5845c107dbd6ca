"""Another project's tests, in a folder of their own and run by a pytest of their own."""

import os
import subprocess
import sys
from pathlib import Path

from tests.processes import run_to_end

# What this pytest, or the pytest-xdist around it, says to the processes that it starts is not meant for another pytest.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PY_COLORS"))} | {
    "NO_COLOR": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
Done = subprocess.CompletedProcess[str]


def write(folder: Path, **files: str) -> Path:
    """Write Python files, by name without suffix."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    return folder


def run_pytest(folder: Path, *options: str) -> Done:
    """Run the tests in a folder as its user would."""
    return run_to_end([*PYTEST, *options], cwd=folder, env=ENVIRONMENT)


def assert_passed(done: Done, tests: int) -> None:
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{tests} passed" in done.stdout
