"""tools.calls counts what a strategy does per page, and nothing that the core or the program itself does."""

import threading
from collections.abc import Iterator

import pytest

from inflight.bench.measure.server import running
from inflight.fake_server.site import SiteConfig
from tools import calls
from tools.calls import Order, count_calls, count_page_faults

FIRST, LAST = 10, 40
COUNTED = LAST - FIRST


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running(None) as server:
        server.configure(SiteConfig(pages=LAST + 10))
        yield f"{server.base}/"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "FIRST", FIRST)
    monkeypatch.setattr(calls, "LAST", LAST)


def test_a_blocking_fetch_is_two_calls_of_functions_and_some_of_the_socket(url: str) -> None:
    python_calls, c_calls = count_calls(Order("sequential", url, 1, None))

    assert round(python_calls / COUNTED) == 2  # Connection.fetch and Connection.exchange, nothing of the core
    assert c_calls >= 2 * COUNTED  # at least send and recv


def test_the_calls_of_other_threads_count(url: str) -> None:
    python_calls, _ = count_calls(Order("thread_pool", url, 4, None))

    assert python_calls >= 4 * COUNTED
    assert threading.getprofile() is None


def test_a_coroutine_that_continues_counts_as_called(url: str) -> None:
    by_callbacks, _ = count_calls(Order("callbacks", url, 1, None))
    by_coroutines, _ = count_calls(Order("generators", url, 1, None))

    assert by_coroutines >= by_callbacks + 3 * COUNTED  # work, fetch and exchange continue for each page


def test_page_faults_are_counted_over_the_same_pages(url: str) -> None:
    (page_faults,) = count_page_faults(Order("sequential", url, 1, None))

    assert page_faults >= 0
