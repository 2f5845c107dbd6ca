"""What a library cannot do: the tests that a strategy with a stack of its own is expected to fail, each with a reason.

An entry whose test passes fails the suite: remove it.
"""

_H11 = {
    "test_a_second_connection_gets_no_second_deadline": "it does not send again what a stale connection has lost",
    "test_sending_and_waiting_share_one_deadline": "it refuses URLs of more than 65,536 characters",
    "test_a_header_section_over_the_limit_is_too_large": "h11's limit of about 100 kB is fixed",
    "test_all_addresses_of_a_host_share_one_deadline[<lambda>]": "anyio tries the second address after 250 ms",
    "test_nonsense_is_a_malformed_response": "h11 waits for the end of a line, whatever it begins with",
    "test_a_link_that_no_url_can_be_made_of_does_not_end_the_crawl[//[v1.a]/]": "it parses Location in any case",
    "test_a_link_that_no_url_can_be_made_of_does_not_end_the_crawl[//[::1]x/]": "it parses Location in any case",
    "test_a_link_that_no_url_can_be_made_of_does_not_end_the_crawl[//h:0x1/]": "it parses Location in any case",
    "test_a_link_that_no_url_can_be_made_of_does_not_end_the_crawl[link8]": "it parses Location in any case",
    "test_a_redirect_to_nowhere_is_a_result": "it parses Location in any case, and fails where it is no URL",
    "test_hosts_that_can_hardly_be_looked_up_do_not_end_the_crawl": "it refuses hosts that are no names before it looks",
}
_HTTP_CLIENT = {
    "test_a_fetch_that_takes_too_long_is_a_timeout": "http.client takes 103 for the response itself",
    "test_a_second_connection_gets_no_second_deadline": "it does not send again what a stale connection has lost",
    "test_a_header_section_over_the_limit_is_too_large": "http.client's limit of 65,536 bytes a line is fixed",
    "test_a_broken_answer_is_tried_again_and_then_a_failed_page": "http.client takes a header that is cut off as whole",
    "test_a_server_that_recovers_causes_no_failure[/half-header]": "http.client takes a header that is cut off as whole",
    "test_a_server_that_recovers_causes_no_failure[/no-end-of-trailers]": "http.client takes cut trailers as whole",
    "test_nonsense_is_a_malformed_response": "http.client ignores lines that are no header and lengths below 0",
    "test_a_length_of_thousands_of_digits_does_not_end_the_crawl": "http.client ignores a length that int() refuses",
    "test_odd_responses_are_pages_like_others": "http.client takes 103 for the response itself",
    "test_links_are_read_as_they_may_be_written": "urllib3 normalises percent codes: it sends %7E for %7e",
    "test_hosts_that_can_hardly_be_looked_up_do_not_end_the_crawl": "urllib3 refuses hosts that are no names",
    "test_every_fault_ends_as_the_site_says[malformed-header]": "http.client ignores lines that are no header",
    "test_a_site_with_every_fault_is_crawled_to_its_end": "http.client ignores lines that are no header",
}
LIMITS: dict[str, dict[str, str]] = {
    "httpx_client": _H11,
    "httpx2_client": _H11,
    "urllib3_threads": _HTTP_CLIENT,
    "requests_threads": _HTTP_CLIENT,
    "pycurl_multi": {
        "test_sending_and_waiting_share_one_deadline": "libcurl refuses URLs of more than 8,000,000 bytes",
        "test_a_broken_answer_is_tried_again_and_then_a_failed_page": "libcurl takes a header that is cut off as whole",
        "test_a_server_that_recovers_causes_no_failure[/half-header]": "libcurl takes a header that is cut off as whole",
        "test_links_are_read_as_they_may_be_written": "libcurl normalises percent codes: it sends %7E for %7e",
    },
}
"""Strategy -> test -> why the library cannot pass it.

A test is the name of its function, or ``name[value]`` for its cases with this value of a parameter. Several
neighbouring values are written as pytest writes them: ``test_every_fault_ends_as_the_site_says[reset-mid-keep-alive]``.
"""


def limit_of(strategy: str, test: str, case: str) -> str | None:
    """Return why a strategy's library cannot pass a case of a test; None if it is expected to pass.

    ``case`` is what pytest writes in the brackets behind the test's name.
    """
    for entry, reason in LIMITS.get(strategy, {}).items():
        name, _, value = entry.removesuffix("]").partition("[")
        if name == test and (not value or f"-{value}-" in f"-{case}-"):
            return reason
    return None
