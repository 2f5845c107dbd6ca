"""The exit codes of the commands: one table, for their --help and docs/cli.md.

0 is success, 1 is what a CI job should fail on, 2 is a refusal with one sentence, 3 is an unknown answer.
"""

REFUSED, BUG, INTERRUPTED = 2, 70, 130
"""70 is EX_SOFTWARE of sysexits.h, 130 is 128 + SIGINT, as shells have it."""

_ALL = {REFUSED: "wrong usage, or environment error", BUG: "internal error", INTERRUPTED: "interrupted"}
_VERDICTS = {0: "pass", 1: "regression", 3: "inconclusive"}
_OWN: dict[str, dict[int, str]] = {
    "demo": {0: "all crawls measured", 1: "a crawl failed"},
    "run": {0: "at least one valid row", 1: "no valid row, or with --strict an invalid one"},
    "race": {0: "race shown", 1: "no valid row in the new run"},
    "report": {0: "report written"},
    "advise": {0: "model recommended", 3: "no confident recommendation, or --verify contradicts it"},
    "compare": _VERDICTS,
    "ab": _VERDICTS,
    "claims": {0: "claims judged, whatever the verdicts", 1: "a claim could not be tested"},
    "limits": {0: "limits measured or predicted"},
    "selftest": {0: "measured", 1: "more false alarms than designed", 3: "too few valid blocks"},
    "swarm": {0: "all fetches were in flight at once, or planned", 1: "they were not, or a check failed"},
    "open-loop": {0: "measured, even if a rate was not kept", 1: "no valid row"},
    "crawl": {0: "at least one page fetched (status 2xx)", 1: "nothing could be fetched"},
    "check": {0: "all rules hold", 1: "a rule is broken"},
    "serve": {0: "served until Ctrl-C"},
    "list": {0: "list shown"},
}
EXITS = {name: dict(sorted((_ALL | codes).items())) for name, codes in _OWN.items()}
"""What each code of each command means."""
EXITS["serve"].pop(INTERRUPTED)  # Ctrl-C is the normal way to stop a server


def ending_text(command: str) -> str:
    """Return the exit codes of a command for its --help, one per line."""
    return "\n".join(["\b", "Exit codes:", *(f"  {code:<4} {meaning}" for code, meaning in EXITS[command].items())])
