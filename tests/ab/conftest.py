"""What the tests of comparisons share."""

import tempfile
from pathlib import Path

import pytest

from tests.ab.repositories import NO_CONFIG
from tests.cli import command


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder for temporary files of all that the test starts."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(command, "ENVIRONMENT", command.ENVIRONMENT | NO_CONFIG | {"TMPDIR": str(folder)})
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder
