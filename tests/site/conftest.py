"""The site that `make docs` builds, and a browser to open it with."""

from pathlib import Path

import pytest

from tests.browser.conftest import browser  # noqa: F401 - a fixture is known where its name is

SITE = Path(__file__).parents[2] / "build" / "site"


@pytest.fixture(scope="session")
def site() -> Path:
    """Return the site. `make test-all` builds it first; a broken link, a broken anchor or a lost page ends that."""
    assert (SITE / "index.html").is_file(), "run `make docs` first"
    return SITE
