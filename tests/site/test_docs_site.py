"""The documentation as a site: it builds without a warning, needs no network, and its search works from a file."""

import json
import re
from pathlib import Path

import pytest

from tests.browser.conftest import Browser
from tests.patience import until

pytestmark = pytest.mark.ci
LOADED = re.compile(
    r"<(?:script|link|img|iframe|source|object|embed)\b[^>]*\b(?:src|href|data)=\"((?:https?:)?//[^\"]*)\""
)
IN_STYLES = re.compile(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^\"')]*)")
RESULTS = "return [...document.querySelectorAll('#search-results li a')].map(link => link.getAttribute('href'))"


def test_no_page_loads_anything_from_the_network(site: Path) -> None:
    pages, styles = sorted(site.rglob("*.html")), sorted(site.rglob("*.css"))

    assert pages
    assert styles
    assert not {(path.name, url) for path in pages for url in LOADED.findall(path.read_text(encoding="utf-8"))}
    assert not {(path.name, url) for path in styles for url in IN_STYLES.findall(path.read_text(encoding="utf-8"))}


def test_the_search_index_knows_on_which_pages_a_word_is(site: Path) -> None:
    script = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(script.removeprefix("Search.setIndex(").removesuffix(")"))
    found = index["terms"]["placebo"]  # a number, or a list of them

    assert "docs/method" in {index["docnames"][page] for page in ([found] if isinstance(found, int) else found)}


def test_a_page_that_was_opened_as_a_file_can_be_searched(site: Path, browser: Browser) -> None:
    browser.open(site / "index.html")
    until(lambda: browser.chrome.current_url.endswith("docs/README.html"))
    browser.chrome.get((site / "search.html").as_uri() + "?q=placebo")
    until(lambda: "docs/method.html" in browser.ask(RESULTS))  # they appear one after another

    assert not browser.fetched_from_elsewhere()
    assert not browser.complaints()


@pytest.mark.parametrize("width", [390, 768, 1024, 1200, 1366])
def test_no_page_scrolls_sideways(site: Path, browser: Browser, width: int) -> None:
    for page in ("README", "docs/limits", "docs/memory", "docs/scale"):
        browser.open(site / f"{page}.html", width)

        assert browser.ask("return document.documentElement.scrollWidth <= innerWidth"), page


def test_a_link_to_a_page_beside_a_folder_of_its_name_is_a_link(site: Path) -> None:
    assert 'href="docs/ci.html"><span class="std std-doc">' in (site / "README.html").read_text(encoding="utf-8")


def test_options_keep_their_two_hyphens(site: Path) -> None:
    assert "<strong>--verify</strong>" in (site / "docs" / "decisions.html").read_text(encoding="utf-8")


def test_a_number_stays_on_the_line_of_its_unit_and_an_option_is_not_broken(site: Path) -> None:
    limits = (site / "docs" / "limits.html").read_text(encoding="utf-8")

    assert "stops at 90\u00a0%" in limits
    assert re.search(r'<code class="whole [^>]*><span class="pre">--through-shared</span>', limits)


def test_cells_of_a_table_have_the_class_of_their_length(site: Path) -> None:
    keys = (site / "docs" / "experiments.html").read_text(encoding="utf-8")

    assert "<td><p>true</p></td>" in keys
    assert '<td class="words"><p>seed of the order of the trials</p></td>' in keys
    assert 'class="words long"' in keys
