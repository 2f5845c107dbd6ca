"""The conformance suite: the rules of ``inflight.strategies.base``, and tests of them that run for any strategy."""

CHECK = "inflight-check"
"""The name of the plug-in with which ``inflight check`` runs the suite for one strategy."""
RULES = {
    "ends": "Return when nothing waits and nothing is in flight.",
    "links": "Start all fetches that the frontier offers, and finish each once.",
    "cap": "Keep at most ``job.max_in_flight`` fetches open.",
    "errors": "A strategy catches ``OSError`` and ``ProtocolError`` of a fetch and passes them to ``frontier.fail``.",
    "deadline": "A fetch fails when its response is not complete at its deadline.",
    "size": "A fetch fails when its response is larger than the limits of the job.",
    "redirects": "A redirect is a response: pass it to ``frontier.finish``, which offers its target.",
    "responses": "Read a response in any framing of HTTP/1.1, and whatever its status.",
    "requests": "Request the URL as it is recorded, with the header fields of the shared core.",
    "connections": "With ``keep-alive``, use connections again; with ``per-fetch``, open one for each fetch.",
    "stale": "A kept connection that the server has closed costs no try.",
    "tls": "A crawl of https trusts the CAs of ``job.ca``, and a certificate that is refused is not tried again.",
    "bugs": "Any other exception is a bug and leaves ``crawl``.",
    "cleanup": "No thread, task, process or descriptor may outlive ``crawl``, even after an error.",
    "work": "Call it once per response, without holding a lock.",
}
"""Each rule with its sentence in the docstring of ``inflight.strategies.base.Strategy``, in the order of the checks."""


def sentence(rule: str) -> str:
    """Return a rule as it is shown."""
    text = RULES[rule].replace("``", "")
    return text.replace("Call it once", "Call consume(job) once")


class BrokenRuleError(AssertionError):
    """A crawl broke a rule; the message says what was expected and what was observed, and may name an exception."""

    def __init__(self, rule: str, expected: str, observed: str, error: str = "") -> None:
        super().__init__(say(expected, observed, error))
        self.rule = rule


def say(expected: object, observed: object, error: str = "") -> str:
    """Return what went wrong in one line."""
    return f"expected {expected} — observed {observed}" + (f" — {error}" if error else "")
