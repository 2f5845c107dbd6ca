"""What a library cannot do: the tests that a strategy with a stack of its own is expected to fail, each with a reason.

An entry whose test passes fails the suite: remove it. A strategy from another place has the limits of ours that need
one of its libraries, and may pass such a test: it may use the library in another way. A test also fails, whatever is
listed here, if it finds broken what is checked after every crawl: nothing is left behind, and all fetches are finished.
"""

from typing import NamedTuple

from inflight import strategies

_STALE = "it does not send again what was lost on a stale connection"
_LOCATION = "it parses a redirect that it does not follow, and fails where that is no URL"
_CUT_OFF = "it takes a header section that is cut off as whole"
_NO_FIELD = "http.client ignores lines that are no header field"
_PERCENT = "it normalises percent codes: it sends %7E for %7e"
_NO_NAME = "it refuses hosts that cannot be names before it looks them up"
_INTERIM = "http.client takes 103 for the response itself"

_H11 = {
    "test_a_second_connection_gets_no_second_deadline": _STALE,
    "test_sending_and_waiting_share_one_deadline": "it refuses URLs of more than 65,536 characters",
    "test_a_header_section_over_the_limit_is_too_large": "its limit for header sections is fixed",
    "test_all_addresses_of_a_host_share_one_deadline[send_page]": "anyio tries the second address after 250 ms",
    "test_nonsense_is_a_malformed_response": "h11 waits for the end of a line, whatever it begins with",
}
_HTTP_CLIENT = {
    "test_a_fetch_that_takes_too_long_is_a_timeout": _INTERIM,
    "test_odd_responses_are_pages_like_others": _INTERIM,
    "test_a_second_connection_gets_no_second_deadline": _STALE,
    "test_a_header_section_over_the_limit_is_too_large": "http.client's limit of 65,536 bytes per line is fixed",
    "test_a_broken_answer_is_tried_again_and_then_a_failed_page": _CUT_OFF,
    "test_a_server_that_recovers_causes_no_failure[/half-header]": _CUT_OFF,
    "test_a_server_that_recovers_causes_no_failure[/no-end-of-trailers]": "http.client takes cut trailers as whole",
    "test_nonsense_is_a_malformed_response": _NO_FIELD,
    "test_every_fault_ends_as_the_site_says[malformed-header]": _NO_FIELD,
    "test_a_site_with_every_fault_is_crawled_to_its_end": _NO_FIELD,
    "test_a_length_of_thousands_of_digits_does_not_end_the_crawl[digits1]": "http.client ignores what int() refuses",
    "test_links_are_read_as_they_may_be_written": _PERCENT,
    "test_hosts_that_can_hardly_be_looked_up_do_not_end_the_crawl": _NO_NAME,
}
_UNASKED = "test_bytes_behind_a_response_answer_nothing[keep-alive-{}-another response]"
_HOSTILE = "test_a_link_that_no_url_can_be_made_of_does_not_end_the_crawl"

LIMITS: dict[str, dict[str, str]] = {
    "httpx_client": {
        **_H11,
        _UNASKED.format("httpx_client"): "it takes what follows a response for the next one",
        f"{_HOSTILE}[//[v1.a]/]": _LOCATION,
        f"{_HOSTILE}[//[::1]x/]": _LOCATION,
        f"{_HOSTILE}[//h:0x1/]": _LOCATION,
        f"{_HOSTILE}[link8]": _LOCATION,
        "test_a_redirect_to_nowhere_is_a_result": _LOCATION,
        "test_hosts_that_can_hardly_be_looked_up_do_not_end_the_crawl": _NO_NAME,
    },
    "httpx2_client": {
        **_H11,
        _UNASKED.format("httpx2_client"): "it takes what follows a response for the next one",
    },
    "urllib3_threads": _HTTP_CLIENT,
    "requests_threads": _HTTP_CLIENT,
    "niquests_client": {
        "test_a_second_connection_gets_no_second_deadline": _STALE,
        "test_a_response_without_end_is_too_large[per-fetch]": "it raises RuntimeError after a dropped response",
        "test_a_header_section_over_the_limit_is_too_large": "its limit for header sections is fixed",
        "test_a_broken_answer_is_tried_again_and_then_a_failed_page": "one class for broken and malformed responses",
        "test_nonsense_is_a_malformed_response": "it waits for the end of a line or a chunk, whatever it begins with",
        "test_links_are_read_as_they_may_be_written": _PERCENT,
        "test_hosts_that_can_hardly_be_looked_up_do_not_end_the_crawl": _NO_NAME,
    },
    "pycurl_multi": {
        "test_sending_and_waiting_share_one_deadline": "libcurl's limit for the size of a request is fixed",
        "test_a_broken_answer_is_tried_again_and_then_a_failed_page": _CUT_OFF,
        "test_a_server_that_recovers_causes_no_failure[/half-header]": _CUT_OFF,
        "test_nonsense_is_a_malformed_response": "libcurl waits for the rest of a response in any version of HTTP",
        "test_a_length_of_thousands_of_digits_does_not_end_the_crawl[digits1]": "it ignores a length that overflows",
        "test_links_are_read_as_they_may_be_written": _PERCENT,
    },
}
"""Strategy -> test -> why the library cannot pass it.

A test is the name of its function, or ``name[value]`` for its cases with this value of a parameter. Several
neighbouring values are written as pytest writes them: ``test_every_fault_ends_as_the_site_says[reset-mid-keep-alive]``.
"""

TIMED = (
    "test_a_fetch_that_takes_too_long_is_a_timeout",
    "test_a_second_connection_gets_no_second_deadline",
    "test_all_addresses_of_a_host_share_one_deadline",
)
"""Tests that a limited library passes where the machine stalls until the deadline: these limits are not strict."""

OUT_OF_REACH = {
    "process_pool": "in processes of its own",
    "interpreter_pool": "in interpreters of its own",
}
"""Strategy -> where it fetches, if it is not in the process and the interpreter of the tests.

A test there can replace neither the parser nor the function that looks up names, so it is skipped.
"""


class Limit(NamedTuple):
    """Why a library cannot pass a case of a test, and whether a strategy that passes is an error of the table."""

    reason: str
    strict: bool


def limit_of(strategy: str, test: str, case: str) -> Limit | None:
    """Return the limit of a strategy's library in a case of a test; None if the strategy is expected to pass.

    ``case`` is what pytest writes in the brackets behind the test's name.
    """
    reason = _listed(strategy, test, case)
    described = strategies.describe(strategy)
    if reason is not None or described.group != strategies.ELSEWHERE:
        return None if reason is None else Limit(reason, strict=test not in TIMED)
    for ours in LIMITS:
        if set(strategies.describe(ours).requires) & set(described.requires):
            reason = _listed(ours, test, case.replace(strategy, ours))
            if reason is not None:
                return Limit(reason, strict=False)
    return None


def _listed(strategy: str, test: str, case: str) -> str | None:
    for entry, reason in LIMITS.get(strategy, {}).items():
        name, _, value = entry.removesuffix("]").partition("[")
        if name == test and (not value or f"-{value}-" in f"-{case}-"):
            return reason
    return None
