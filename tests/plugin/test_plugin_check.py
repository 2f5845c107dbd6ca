"""``synthetic_site.check(found)``: what it accepts, and what it says."""

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest

from inflight.bench.pytest_plugin import Pages, SyntheticSite
from inflight.fake_server.config import SiteConfig
from tests.plugin.projects import run_pytest, write

URL = "http://127.0.0.1:8080"
CONFIG = {"pages": 20, "links": 3, "missing": 0.2, "redirects": 0.2, "faults": {"truncated": 0.2}}
SITE = SyntheticSite(URL, SiteConfig.from_dict(CONFIG), Mock())
EXPECTED = SITE.expected
WHOLE = {path: result for path, result in EXPECTED.items() if result[0] is not None}
FAILING = EXPECTED.keys() - WHOLE.keys()
FIRST, SECOND, *_ = WHOLE


def test_the_site_has_pages_of_all_kinds() -> None:
    assert FIRST == "/"
    assert FAILING
    assert {200, 404} < {status for status, _ in WHOLE.values()}


@pytest.mark.parametrize(
    "form",
    [
        dict,
        list,
        iter,
        lambda pages: {URL + path for path in pages},
        lambda pages: [f"http://localhost:8080{path}#part" for path in pages],
        lambda pages: [URL if path == "/" else URL + path for path in pages],
        lambda pages: {URL + path: status for path, (status, _) in pages.items()},
        lambda pages: {path: size * b"x" for path, (_, size) in pages.items()},
        lambda pages: {path: size * "x" for path, (_, size) in pages.items()},
    ],
)
def test_the_right_pages_pass_in_each_form(form: Callable[[Pages], Any]) -> None:
    SITE.check(form(WHOLE))


def test_a_failed_page_may_be_left_out_or_said_to_have_failed() -> None:
    SITE.check(EXPECTED)
    SITE.check(list(EXPECTED))
    SITE.check(WHOLE | dict.fromkeys(FAILING))


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (WHOLE.keys() - {SECOND}, f"1 pages missing, 0 too many, 0 different; for example {SECOND}"),
        ([*WHOLE, "/nowhere"], "0 pages missing, 1 too many, 0 different; for example /nowhere"),
        ([*WHOLE, "http://elsewhere/"], "1 too many, 0 different; for example http://elsewhere/"),
        ([*WHOLE, "http://127.0.0.1:80800/"], "1 too many, 0 different; for example http://127.0.0.1:80800/"),
        ({**WHOLE, "/": 500}, "0 too many, 1 different; for example /: expected status 200 with "),
        ({**WHOLE, "/": b"short"}, "got status 200 with 5 bytes"),
        ({**WHOLE, "/": "é"}, "got status 200 with 2 bytes"),
        ({**WHOLE, "/": None}, "got a failure"),
        ({**WHOLE, min(FAILING): 200}, f"for example {min(FAILING)}: expected a failure, got status 200 with 0 bytes"),
        ([], f"{len(WHOLE)} pages missing, 0 too many, 0 different; for example /"),
    ],
)
def test_other_pages_fail_with_a_sentence(found: Any, sentence: str) -> None:
    with pytest.raises(AssertionError) as caught:
        SITE.check(found)

    assert str(caught.value).startswith(f"the crawl of {URL} is wrong: ")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [True, 2.5, (200,), ("200", 5), {}])
def test_another_value_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match=r"^/: "):
        SITE.check({**WHOLE, "/": value})


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        ({3: 4}, "a URL or path is a text, not 3"),
        ([None], "a URL or path is a text, not None"),
        ([b"/"], "a URL or path is a text, not b'/'"),
        (None, "a crawl finds a collection of URLs or paths, not None"),
        (5, "a crawl finds a collection of URLs or paths, not 5"),
        ("/", "a crawl finds a collection of URLs or paths, not '/'"),
    ],
)
def test_what_has_no_urls_is_refused_with_a_sentence(found: Any, sentence: str) -> None:
    with pytest.raises(TypeError) as caught:
        SITE.check(found)

    assert str(caught.value) == sentence


USED = """
import pytest


@pytest.mark.synthetic_site(pages=10, links=3)
def test_crawler(synthetic_site):
    synthetic_site.check([synthetic_site.url + path for path in synthetic_site.paths[:-1]])
"""


@pytest.mark.ci
def test_the_failure_of_a_test_is_the_sentence(tmp_path: Any) -> None:
    done = run_pytest(write(tmp_path, test_mine=USED))

    assert done.returncode == pytest.ExitCode.TESTS_FAILED
    assert "1 pages missing, 0 too many, 0 different; for example /" in done.stdout
    assert "pytest_plugin.py" not in done.stdout
