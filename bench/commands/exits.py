"""The exit codes of the commands: one table, which their --help and docs/cli.md show.

0 is done, 1 is what a continuous integration has to stop at, 2 is a refusal in one sentence, 3 is no answer.
"""

REFUSED, BUG, INTERRUPTED = 2, 70, 130
"""70 is EX_SOFTWARE of sysexits.h, 130 what a shell says of a program that Ctrl-C ended (128 + SIGINT)."""

_ALL = {REFUSED: "wrong usage, or something here forbids it", BUG: "a bug of ours", INTERRUPTED: "Ctrl-C"}
_VERDICTS = {0: "pass", 1: "regression", 3: "inconclusive"}
_OWN: dict[str, dict[int, str]] = {
    "run": {0: "at least one row is valid", 1: "no row is; with --strict: one is red, wrong, failed or timed out"},
    "race": {0: "shown", 1: "a new run has no valid row"},
    "report": {0: "written"},
    "advise": {0: "advised", 3: "no confident recommendation, or --verify contradicts it"},
    "compare": _VERDICTS,
    "ab": _VERDICTS,
    "claims": {0: "judged, whatever the verdicts", 1: "a claim could not be run"},
    "limits": {0: "found, or predicted"},
    "selftest": {0: "measured", 1: "false alarms are more frequent than designed", 3: "too few blocks were good"},
    "swarm": {
        0: "all were in flight at once, confirmed, and answered; or planned",
        1: "they were not, or a check is red",
    },
    "open-loop": {0: "measured, whether or not a rate was kept", 1: "no row is valid"},
    "crawl": {0: "crawled, whatever became of the URLs"},
    "serve": {0: "served until Ctrl-C"},
    "list": {0: "shown"},
    "completion": {0: "printed"},
}
EXITS = {name: dict(sorted((_ALL | own).items())) for name, own in _OWN.items()}
"""What each code of each command means."""
EXITS["serve"].pop(INTERRUPTED)  # Ctrl-C is how a server is told that it is enough


def told(command: str) -> str:
    """Return the exit codes of a command as its --help says them."""
    return "Exit codes: " + "; ".join(f"{code} {meaning}" for code, meaning in EXITS[command].items()) + "."
