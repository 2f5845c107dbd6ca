"""The site that `make docs` builds, and a browser to open it with."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser.conftest import browser  # noqa: F401 - a fixture is known where its name is

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as `make docs` does; any warning is a failure: a broken link, a broken anchor, a lost page."""
    if importlib.util.find_spec("sphinx") is None:
        pytest.skip("needs Sphinx: `make docs` installs it")
    folder = tmp_path_factory.mktemp("site")
    build = ["--builder", "html", "--fail-on-warning", "--keep-going", "--quiet", "--conf-dir", "docs/site"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *build, ".", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder
