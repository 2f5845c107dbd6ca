"""``inflight check``: which rule a strategy breaks, in words."""

import json
import re
import signal
import sys
from pathlib import Path
from typing import Any, Literal

import pytest

from inflight.bench.commands import check as command
from inflight.bench.commands.check import Checked
from inflight.conformance import sentence
from inflight.conformance.plugin import Case
from inflight.conformance.processes import Ending
from tests.cli.command import ENVIRONMENT, Done, await_end, call, inflight, running
from tests.patience import FOREVER_S
from tests.processes import run_to_end

ROOT = Path(__file__).parents[2]
GOOD = """
import inflight.strategies.callbacks

STACK = "shared"
REQUIRES = ()
crawl = inflight.strategies.callbacks.crawl
"""


def check(defect: str, *options: str) -> Done:
    return inflight("check", f"tests.conformance.broken:{defect}", *options, folder=ROOT)


def rule_of(done: Done, rule: str) -> dict[str, Any]:
    """Return what a check says about a rule."""
    (found,) = [found for found in json.loads(done.out)["rules"] if found["rule"] == rule]
    return dict(found)


@pytest.mark.parametrize(
    ("defect", "rule", "line"),
    [
        ("forgets_to_finish_a_fetch", "links", "expected each fetch finished or failed — observed 1 neither"),
        ("finishes_a_fetch_twice", "links", "was finished twice (broken.py:"),
        ("exceeds_the_cap", "cap", "in flight: expected "),
        ("leaks_a_thread", "cleanup", "expected nothing left — observed the thread forgotten after crawl returned"),
        ("leaks_a_descriptor", "cleanup", "expected nothing left — observed +1 descriptor after crawl returned"),
        ("forgets_to_close_a_socket", "cleanup", "ResourceWarning: unclosed <socket.socket "),
        ("ignores_redirects", "redirects", "expected 404 — observed nothing"),
        ("swallows_an_error", "bugs", "frontier or in the parser — observed crawl returned"),
        ("lets_a_network_error_out", "errors", "expected no exception — observed one that left crawl — "),
        ("raises_a_group", "ends", "ValueError: the reason (broken.py:"),
        ("works_twice_per_page", "work", "calls of consume: expected 32 — observed 64"),
        ("never_works", "work", "calls of consume: expected 32 — observed 0"),
        ("ends_the_process", "ends", "expected crawl returns — observed it ended the process: exit code 5"),
        ("ignores_deadlines", "deadline", "expected an end within 5 s — observed none in "),
        ("ignores_the_limit_of_bodies", "size", "/length/1001: expected too large"),
        ("hides_errors_of_servers", "responses", ": expected 400 — observed 200"),
        ("has_another_name", "requests", "header fields: expected user-agent: inflight — observed user-agent: another"),
        ("never_keeps_a_connection", "connections", "connections: expected at most 3 — observed 150"),
        ("takes_stale_connections_for_failures", "stale", "closed after an answer: expected no others — observed /0, "),
    ],
)
def test_a_broken_rule_is_named(defect: str, rule: str, line: str) -> None:
    done = check(defect, "--rule", rule, "--json", "--timeout", "5s" if rule == "deadline" else "100s")

    found = rule_of(done, rule)
    assert done.code == 1
    assert found["holds"] is False
    assert found["sentence"] == sentence(rule)
    assert any(line in shown for failure in found["failures"] for shown in failure["lines"]), found["failures"]


def test_a_warning_of_a_library_breaks_no_rule() -> None:
    assert check("warns", "--rule", "ends").code == 0


def test_several_things_that_were_not_closed_break_one_rule() -> None:
    done = check("forgets_to_close_two_sockets", "--rule", "ends")

    ends, cleanup, leak, *_ = done.out.splitlines()
    assert (ends[:12], cleanup[:15]) == ("ok      ends", "FAILED  cleanup")
    assert leak.strip().startswith("expected nothing left — observed ResourceWarning: unclosed <socket.socket ")


def test_a_leak_is_told_by_its_rule_in_whatever_test_it_is_found_and_hides_nothing() -> None:
    done = check("leaks_a_descriptor", "--rule", "ends")

    ends, cleanup, leak, *_, last = done.out.splitlines()
    assert ends.startswith("ok      ends")
    assert cleanup.startswith("FAILED  cleanup")
    assert leak.strip().startswith(
        "expected nothing left — observed +1 descriptor after crawl returned — 5 cases, such as"
    )
    assert "1 of 2 rules hold (5 of 5 cases) in " in last
    assert "ends: 5 cases, 5 failed cleanup" in done.err


def test_a_leak_hides_no_other_failure() -> None:
    done = check("leaks_and_ignores_redirects", "--rule", "redirects")

    assert "/x: expected 200 — observed nothing — " in done.out
    assert "expected nothing left — observed +1 descriptor after crawl returned — 12 cases" in done.out


@pytest.mark.parametrize(
    ("defect", "line"),
    [
        (
            "blocks_its_event_loop",
            "expected an event loop that waits for sockets only — observed it blocked in broken.py:",
        ),
        (
            "blocks_its_event_loop_for_10_ms",
            "expected an event loop that waits for sockets only — observed it blocked in broken.py:",
        ),
        (
            "calls_blocking_code",
            "at most 1 of 10 in flight: a blocking call in a coroutine? (event loop blocked in broken.py:",
        ),
        ("has_a_small_pool", "expected 50 in flight — observed at most 6 of 50 in flight: a pool at its limit?"),
    ],
)
def test_the_usual_errors_of_beginners_have_names(defect: str, line: str) -> None:
    done = check(defect, "--rule", "cap", "--json", "--timeout", "10s")

    assert any(line in shown for failure in rule_of(done, "cap")["failures"] for shown in failure["lines"]), done.out
    assert json.loads(done.out)["not_run"] == 0


def test_a_hanging_coroutine_says_where_it_blocks() -> None:
    done = check("sleeps_for_ever_in_a_coroutine", "--rule", "ends", "--timeout", "5s")

    assert "expected an end within 5 s — observed none: the event loop is blocked in broken.py:" in done.out
    assert "a blocking call in a coroutine? — " in done.out


def test_the_exception_of_a_failed_page_is_named_with_its_line() -> None:
    done = check("takes_its_own_bug_for_an_error", "--rule", "ends", "--quiet")

    assert "expected 200 — observed malformed response — ValueError: the bug (broken.py:" in done.out


def test_a_strategy_that_never_returns_is_stopped() -> None:
    done = check("never_returns", "--rule", "ends", "--timeout", "5s")

    assert done.code == 1
    assert "        expected an end within 5 s — observed none in broken.py:" in done.out
    assert re.search(r"cases not run, because too many others did not end: [12] of 5 ends", done.out)
    assert re.search(r"0 of 1 rules hold \(0 of [34] cases, [12] not run\)", done.out)


def test_a_rule_that_hangs_leaves_the_other_rules() -> None:
    done = check("never_follows_redirects", "--rule", "redirects", "--rule", "requests", "--timeout", "5s")

    assert "cases not run, because too many others did not end: " in done.out
    assert "ok      requests" in done.out


def test_failures_are_told_in_words() -> None:
    done = check("ignores_redirects", "--rule", "redirects", "--rule", "ends")

    lines = done.out.splitlines()
    place = lines.index(f"FAILED  redirects    {sentence('redirects')}")
    assert "ok      ends         Return when nothing waits and nothing is in flight." in lines[:place]
    assert lines[place + 1].startswith("        /x: expected 200 — observed nothing — ")
    assert "1 of 2 rules hold" in lines[-1]
    assert "redirects: " in done.err
    assert "Traceback" not in done.out
    assert "assert" not in done.out


def test_an_estimate_is_made_of_the_first_pages() -> None:
    done = check("is_slow", "--rule", "ends", "--rule", "requests")

    said = next(line for line in done.err.splitlines() if line.startswith("a page takes "))
    value, unit = said.split()[3:5]
    assert float(value) * {"ms,": 1, "s,": 1000}[unit] >= 50


def test_a_traceback_is_shown_when_asked_for() -> None:
    done = check("swallows_an_error", "--rule", "bugs", "--verbose", "--quiet")

    assert "            | " in done.out
    assert "test_crawl_ends.py:" in done.out
    assert done.err == ""


@pytest.mark.parametrize(
    ("outcome", "options", "is_named"),
    [
        ("limit", (), True),
        ("passed", ("--rule", "ends"), False),
        ("failed", (), False),
        ("passed", ("--quiet",), False),
    ],
)
def test_a_check_of_all_rules_that_hold_names_the_next_step(
    outcome: Literal["passed", "failed", "limit"],
    options: tuple[str, ...],
    is_named: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = tmp_path / "my client.py"
    client.write_text(GOOD, "utf-8")
    cases = [Case("it ends", "", "ends", Ending(outcome, ("why",)))]
    monkeypatch.setattr(command, "check", lambda *_: Checked("my client", cases, {"ends": 1}, 1.0))

    done = call("check", str(client), *options)

    assert (f"measure it: inflight run quick --strategy '{client}'" in done.err) is is_named
    limit = "known limit of the library, which breaks no rule: 1 case; --verbose prints each with its reason"
    assert (limit in done.out.splitlines()) is (outcome == "limit")


def test_a_file_is_checked_from_anywhere(tmp_path: Path) -> None:
    (tmp_path / "my_client.py").write_text(f'"""My client."""\n{GOOD}', "utf-8")
    (tmp_path / "conftest.py").write_text("raise SystemExit(5)", "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option", "utf-8")

    words = ("check", "./my_client.py", "--rule", "ends", "--rule", "requests", "-q")
    done = inflight(*words, folder=tmp_path, PYTEST_ADDOPTS="--no-such-option")

    assert done.code == 0, done.out + done.err
    assert done.out.splitlines()[-1].startswith("my_client: 2 of 2 rules hold (8 of 8 cases) in ")
    assert {path.name for path in tmp_path.iterdir()} <= {
        "my_client.py",
        "conftest.py",
        "pytest.ini",
        "__pycache__",
    }


def test_the_limit_holds_for_the_import_too(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(f"import time\nSTACK = 'own'\nREQUIRES = ()\ntime.sleep({FOREVER_S})\n", "utf-8")

    done = inflight("check", "./mine.py", "--timeout", "5s", folder=tmp_path)

    assert done.sentence == "mine cannot be imported: did not end within 5 s, in mine.py:4"


def test_what_a_file_prints_is_no_part_of_the_result(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(f"print('hello')\n{GOOD}", "utf-8")

    done = inflight("check", "./mine.py", "--rule", "ends", "--json", folder=tmp_path)

    assert json.loads(done.out)["strategy"] == "mine"


def run_with(code: str, *arguments: str) -> Done:
    """Run the command in an interpreter that has run this code before."""
    program = f"import sys\n{code}\nsys.argv[1:] = {list(arguments)}\nfrom inflight.bench.cli import main\nmain()\n"
    done = run_to_end([sys.executable, "-c", program], cwd=ROOT, env=ENVIRONMENT)
    return Done(done.returncode, done.stdout, done.stderr)


LIMITED = """
from inflight.conformance.exceptions import LIMITS
LIMITS["tests.conformance.broken:ignores_redirects"] = {limits}
"""
REFERENCE = "tests.conformance.broken:ignores_redirects"
LIMITED_PATHS = {f"/{path}": "it is deaf" for path in ("without-location", "empty")}


def test_a_limit_of_a_library_is_told_and_breaks_no_rule() -> None:
    reference = "tests.conformance.broken:changes_redirects"
    code = LIMITED.format(limits=LIMITED_PATHS).replace("ignores_redirects", "changes_redirects")

    done = run_with(code, "check", reference, "--rule", "redirects", "--json")

    found = rule_of(done, "redirects")
    assert [(limit["test"], limit["lines"]) for limit in found["limits"]] == [
        ("a redirect to nowhere is a result", ["/without-location: it is deaf; /empty: it is deaf"]),
    ]


def test_a_limit_that_is_none_fails() -> None:
    done = run_with(LIMITED.format(limits=LIMITED_PATHS), "check", REFERENCE, "--rule", "redirects")

    assert done.code == 1
    assert "/without-location is right, but is listed in exceptions.py as a limit of the library: it is" in done.out


def test_a_limit_of_a_library_hides_no_leak() -> None:
    code = LIMITED.format(limits=LIMITED_PATHS).replace("ignores_redirects", "leaks_a_thread")

    done = run_with(
        code,
        "check",
        "tests.conformance.broken:leaks_a_thread",
        "--rule",
        "redirects",
        "--json",
    )

    leaks = [failure["test"] for failure in rule_of(done, "cleanup")["failures"]]
    assert "a redirect to nowhere is a result" in leaks


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, 130),
        (signal.SIGKILL, -9),
    ],
)
def test_a_signal_leaves_no_process(number: int, code: int) -> None:
    endless = ("tests.conformance.broken:never_returns", "--timeout", "1000s")
    with running("check", *endless, folder=ROOT) as command:
        family = command.family_when(3)
        command.process.send_signal(number)
        done = command.end()

    assert done.code == code
    assert done.out == ""
    await_end(family)
