"""The check that every crawling probe makes: a price of pages that did not come is no price."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strategies.core.page import Fetch


class WrongAnswerError(Exception):
    """A crawl brought another number of pages than the site has; the message says how many, and what went wrong."""


def check_pages(finished: Iterable["Fetch"], site: Mapping[str, Any] | None) -> int:
    """Return how many pages came with status 200. Raises WrongAnswerError unless they are all that the site has."""
    assert site is not None
    fetches = list(finished)
    pages = sum(fetch.status == 200 for fetch in fetches)
    if pages != site["pages"]:
        errors = sorted({fetch.error for fetch in fetches if fetch.error})
        why = f": {', '.join(errors)}" if errors else ""
        raise WrongAnswerError(f"the crawl brought {pages} of {site['pages']} pages{why}")
    return pages
