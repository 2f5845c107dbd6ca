"""``.ci/newest-python``: which Python runs a part of the suite once more."""

import shutil
import subprocess
from pathlib import Path

import pytest

NEWEST_PYTHON = Path(__file__).parents[2] / ".ci" / "newest-python"
RUNS = "#!/bin/sh\necho {minor}\n"
SHIM = "#!/bin/sh\necho 'pyenv: python3.14: command not found' >&2\nexit 127\n"
PYENV = "#!/bin/sh\necho '{root}'\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the only folder of PATH: it has a shell and what the script needs, and no Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("bash", "sort"):
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    return folder


def program(file: Path, text: str) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    file.chmod(0o755)
    return str(file)


def newest(path: Path, given: str) -> str:
    done = subprocess.run(
        [str(NEWEST_PYTHON), given], env={"PATH": str(path)}, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.strip()


def python(folder: Path, minor: int) -> str:
    return program(folder / f"python3.{minor}", RUNS.format(minor=minor))


def test_the_newest_of_several_is_named(path: Path) -> None:
    given, _, wanted = (python(path, minor) for minor in (11, 12, 13))

    assert newest(path, given) == wanted


def test_a_shim_that_does_not_run_is_ignored(path: Path) -> None:
    given, wanted = python(path, 11), python(path, 12)
    program(path / "python3.14", SHIM)

    assert newest(path, given) == wanted


def test_the_versions_of_pyenv_are_found_behind_their_shims(path: Path, tmp_path: Path) -> None:
    given = python(path, 11)
    program(path / "python3.13", SHIM)
    program(path / "pyenv", PYENV.format(root=tmp_path / "a root"))
    versions = tmp_path / "a root" / "versions"
    older, wanted = (python(versions / name / "bin", 13) for name in ("3.13.2", "3.13.10"))

    assert newest(path, given) == wanted != older
