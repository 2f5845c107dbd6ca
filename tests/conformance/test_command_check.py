"""``inflight check``: which rule a strategy breaks, in words."""

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from inflight.conformance import sentence
from tests.cli.command import ENVIRONMENT, Done, await_end, inflight, running
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
        ("forgets_to_finish_a_fetch", "links", "fetches started and neither finished nor failed: 1"),
        ("finishes_a_fetch_twice", "links", "was finished twice (frontier.py:"),
        ("exceeds_the_cap", "cap", "assert "),
        ("leaks_a_thread", "cleanup", "after crawl returned, it has left the thread forgotten"),
        ("leaks_a_descriptor", "cleanup", "after crawl returned, it has left +1 descriptor"),
        ("forgets_to_close_a_socket", "cleanup", "ResourceWarning: unclosed <socket.socket "),
        ("ignores_redirects", "redirects", "Right contains 6 more items:"),
        ("swallows_an_error", "bugs", "an exception, raised in the frontier or in the parser"),
        ("lets_a_network_error_out", "errors", "crawl raised "),
        ("raises_a_group", "ends", "ValueError: the reason (broken.py:"),
        ("works_twice_per_page", "work", "assert 64 == 32"),
        ("never_works", "work", "assert 0 == 32"),
        ("ends_the_process", "ends", "ended the process: exit code 5"),
        ("ignores_deadlines", "deadline", "did not end within 5 s"),
        ("ignores_the_limit_of_bodies", "size", "{'/length/1001': 200}"),
        ("hides_errors_of_servers", "responses", "{'/moved': 200} != {'/moved': 301}"),
        ("has_another_name", "requests", "'user-agent: another'"),
        ("never_keeps_a_connection", "connections", "assert 150 <= 3"),
        ("takes_stale_connections_for_failures", "stale", "assert "),
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


def test_a_leak_is_told_by_its_rule_in_whatever_test_it_is_found() -> None:
    done = check("leaks_a_descriptor", "--rule", "ends", "--json")

    assert rule_of(done, "cleanup")["holds"] is False
    assert [found["rule"] for found in json.loads(done.out)["rules"]] == ["cleanup"]
    assert "ends: 5 cases, 5 failed cleanup" in done.err


def test_a_strategy_that_never_returns_is_stopped() -> None:
    done = check("never_returns", "--rule", "ends", "--timeout", "5s")

    assert done.code == 1
    assert "            did not end within 5 s, in broken.py:" in done.out
    assert "0 of 1 rules hold (0 of 3 cases; stopped because of cases that did not end, 2 not run)" in done.out


def test_failures_are_told_in_words() -> None:
    done = check("ignores_redirects", "--rule", "redirects", "--rule", "ends")

    lines = done.out.splitlines()
    place = lines.index(f"FAILED  redirects    {sentence('redirects')}")
    assert "ok      ends         Return when nothing waits and nothing is in flight." in lines[:place]
    assert "        a target of many is fetched once (connection keep-alive): 2 of 2 cases" in lines[place:]
    assert "            Right contains 1 more item:" in lines[place:]
    assert "            {'/target': 200}" in lines[place:]
    assert "1 of 2 rules hold" in lines[-1]
    assert "redirects: " in done.err
    assert "Traceback" not in done.out


def test_a_traceback_is_shown_when_asked_for() -> None:
    done = check("swallows_an_error", "--rule", "bugs", "--verbose", "--quiet")

    assert "            | " in done.out
    assert "test_crawl_ends.py:" in done.out
    assert done.err == ""


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
    assert "        a redirect to nowhere is a result" in done.out
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
