"""What a library cannot do: the paths at which its strategy is expected to fail, each with a reason.

An entry whose path comes out right fails the suite: remove it. Where a timeout is expected it may come out right, as
anything may time out on a machine that stalls. A strategy from another place has the limits of ours that need one of
its libraries, and may pass: it may use the library in another way. What is checked after every crawl has no limits:
nothing is left behind, and all fetches are finished.
"""

from inflight import strategies

_STALE = "it does not send again what was lost on a stale connection"
_LOCATION = "it parses a redirect that it does not follow, and fails where that is no URL"
_CUT_OFF = "it takes a header section that is cut off as whole"
_CUT_TRAILERS = "http.client takes cut trailers as whole"
_NO_FIELD = "http.client ignores lines that are no header field"
_IGNORES = "http.client ignores a length that it cannot use"
_OVERFLOW = "it ignores a length that overflows"
_LINE = "it waits for the end of a line, whatever it begins with"
_VERSION = "it waits for the rest of a response in any version of HTTP"
_PERCENT = "it normalises percent codes: it sends %7E for %7e"
_NO_NAME = "it refuses hosts that cannot be names before it looks them up"
_INTERIM = "http.client takes 103 for the response itself"
_UNSEEN = "it does not show these to its caller, and has other limits for them"
_UNASKED = "it takes what follows a response for the next one"

_CUT_BODY = "it takes a body that lasts until the connection closes as whole without a close_notify"
_CANCELLED = "httpcore leaves the socket to the garbage collector when a handshake is cancelled"

_AROUND = {f"/around/2000/{name}": _UNSEEN for name in ("interim", "interims", "chunk-extension", "trailers")}
_H11 = {
    **_AROUND,
    "/late/second-connection": _STALE,
    "/nonsense/text-without-end": _LINE,
    "/nonsense/version": _VERSION,
    "/behind/response": _UNASKED,
    "silent-first.test": "anyio tries the second address after 250 ms",
    "/tls/silent-hello": _CANCELLED,
    "/tls/until-cut": _CUT_BODY,
}
_HTTP_CLIENT = {
    **_AROUND,
    "/slow/interim": _INTERIM,
    "/odd/interim": _INTERIM,
    "/broken/half-header": _CUT_OFF,
    "/broken/no-end-of-trailers": _CUT_TRAILERS,
    "/recovers/half-header": _CUT_OFF,
    "/recovers/no-end-of-trailers": _CUT_TRAILERS,
    "/nonsense/text-without-end": _LINE,
    "/nonsense/tls": _LINE,
    "/nonsense/no-colon": _NO_FIELD,
    "/nonsense/length": _IGNORES,
    "/nonsense/many-nines": _IGNORES,
    "/percent/%41%7e": _PERCENT,
    "%00.x.invalid": _NO_NAME,
    "%.x.invalid": _NO_NAME,
    "fault malformed-header": _NO_FIELD,
    "/tls/until-cut": _CUT_BODY,
}

LIMITS: dict[str, dict[str, str]] = {
    "aiohttp_client": {
        "/around/2000/interims": "it has a limit for each interim response, and none for all",
        "/around/2000/chunk-extension": _UNSEEN,
        "/tls/until-cut": _CUT_BODY,
        "/tls/drip": "a response cancelled halfway stays open for 30 s, until the server has said close_notify",
    },
    "httpx_client": {
        **_H11,
        "/future-address/redirect": _LOCATION,
        "/text-behind-address/redirect": _LOCATION,
        "/hex-port/redirect": _LOCATION,
        "/nines-as-port/redirect": _LOCATION,
        "/not-punycode/redirect": _LOCATION,
        "/mailto": _LOCATION,
        "xn--a.x.invalid": _NO_NAME,
        "xn--.x.invalid": _NO_NAME,
    },
    "httpx2_client": {**_H11, "/port-alone/redirect": _LOCATION},
    "urllib3_threads": _HTTP_CLIENT,
    "requests_threads": _HTTP_CLIENT,
    "niquests_client": {
        **_AROUND,
        "/section/65537/reason": "it gives the usual reason of the status, whatever was sent",
        "/late/second-connection": _STALE,
        "/percent/%41%7e": _PERCENT,
    },
    "pycurl_multi": {
        "/around/2000/chunk-extension": _UNSEEN,
        "/broken/half-header": _CUT_OFF,
        "/recovers/half-header": _CUT_OFF,
        "/nonsense/version": _VERSION,
        "/nonsense/many-nines": _OVERFLOW,
        "/percent/%41%7e": _PERCENT,
    },
}
"""Strategy -> path -> why the library fails there. A host or a fault of the fake site stands for a path."""

OUT_OF_REACH = {
    "process_pool": "in processes of its own",
    "interpreter_pool": "in interpreters of its own",
}
"""Strategy -> where it fetches, if it is not in the process and the interpreter of the tests.

A test there can replace neither the parser nor the clock nor the function that looks up names, so it is skipped.
"""


def limits_of(strategy: str) -> dict[str, str]:
    """Return the limits of a strategy's library: path -> reason."""
    described = strategies.describe(strategy)
    if strategy in LIMITS or described.group != strategies.ELSEWHERE:
        return LIMITS.get(strategy, {})
    found: dict[str, str] = {}
    for ours, limits in LIMITS.items():
        if set(strategies.describe(ours).requires) & set(described.requires):
            found = {**limits, **found}
    return found
