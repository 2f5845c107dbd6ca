"""The workflows of docs/ci: their shell is run here, with programs that only say what they were asked to do."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

DOCS = Path(__file__).parents[2] / "docs"
FILES = {path.name: path for path in sorted((DOCS / "ci").glob("*.yml"))}
AB, PYTEST = "inflight.yml", "pytest-benchmark.yml"
INCONCLUSIVE = "::warning title=inflight::Inconclusive"

# Notes what it was asked for, adds a report to the file that it was given, or prints it, and exits as it is told.
FAKE_INFLIGHT = """#!/usr/bin/env bash
printf '%s\\n' "$@" > "$ASKED"
report=/dev/stdout
while [ $# -gt 0 ]; do
  if [ "$1" = --markdown ] && [ $# -gt 1 ]; then report="$2"; fi
  shift
done
if [ "$CODE" -ne 2 ]; then echo "# A report" >> "$report"; fi
exit "$CODE"
"""
# Knows one thing: to make the base's folder.
FAKE_GIT = """#!/usr/bin/env bash
[ "$1 $2 $3" = "worktree add --detach" ] && [ "$5" = "$BASE" ] && cp -r "$BASE_FOLDER" "$4"
"""
BENCHMARK = """
def test_sum(benchmark):
    benchmark.extra_info["side"] = "{side}"
    benchmark.pedantic(lambda: sum(range({pages})), rounds=20)
"""


@dataclass(frozen=True)
class Ran:
    """How a step ended, and what it left for GitHub."""

    code: int
    out: str
    summary: str
    output: str
    asked: list[str]


def workflow(name: str) -> dict[Any, Any]:
    values: dict[Any, Any] = yaml.safe_load(FILES[name].read_text(encoding="utf-8"))
    return values


def steps(name: str) -> list[dict[str, Any]]:
    (job,) = workflow(name)["jobs"].values()
    found: list[dict[str, Any]] = job["steps"]
    return found


def shell(name: str, step: str) -> str:
    (found,) = [str(each["run"]) for each in steps(name) if each.get("name") == step]
    return found


def program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def run_step(folder: Path, name: str, step: str, **variables: str) -> Ran:
    """Run a step as GitHub does where no shell is named: with bash -e (docs.github.com, workflow syntax, "shell")."""
    programs, temporary, workspace = folder / "programs", folder / "temporary", folder / "workspace"
    program(programs, "inflight", FAKE_INFLIGHT)
    program(programs, "git", FAKE_GIT)
    program(programs, "python", f'#!/usr/bin/env bash\nexec "{sys.executable}" "$@"\n')
    for made in (temporary, workspace):
        made.mkdir(exist_ok=True)
    left = {variable: folder / variable for variable in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "ASKED")}
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "GITHUB_", "RUNNER_"))}
    done = subprocess.run(
        ["bash", "-e", "-c", shell(name, step)],
        cwd=workspace,
        env=kept
        | {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(temporary),
            "GITHUB_WORKSPACE": str(workspace),
            "BASE": "ba5e",
            "HEAD": "4ead",
        }
        | {key: str(value) for key, value in workflow(name)["env"].items()}
        | {key: str(path) for key, path in left.items()}
        | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    summary, output, asked = (path.read_text(encoding="utf-8") if path.exists() else "" for path in left.values())
    assert "unbound" not in done.stderr
    return Ran(done.returncode, done.stdout + done.stderr, summary, output, asked.splitlines())


@pytest.mark.parametrize("name", FILES)
def test_a_workflow_runs_on_pull_requests_and_may_only_read(name: str) -> None:
    values = workflow(name)

    assert values[True] == {"pull_request": None}  # YAML 1.1 takes the word "on" for true
    assert values["permissions"] == {"contents": "read"}


@pytest.mark.parametrize("name", FILES)
def test_both_revisions_are_checked_out_and_all_results_are_kept(name: str) -> None:
    first, last = steps(name)[0], steps(name)[-1]

    assert first["uses"].startswith("actions/checkout@")
    assert first["with"] == {"fetch-depth": 0}
    assert last["uses"].startswith("actions/upload-artifact@")
    assert last["if"] == "always()"
    assert last["with"]["path"] == "results"


@pytest.mark.parametrize("name", FILES)
def test_untrusted_values_reach_the_shell_only_as_variables(name: str) -> None:
    assert not [step for step in steps(name) if "${{" in step.get("run", "")]


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (1, 1), (2, 2), (3, 0)])
def test_only_an_inconclusive_comparison_passes_with_a_warning(tmp_path: Path, code: int, ends: int) -> None:
    ran = run_step(tmp_path, AB, "Compare", CODE=str(code))

    assert ran.code == ends, ran.out
    assert (INCONCLUSIVE in ran.out) == (code == 3)
    assert ran.output == f"code={code}\n"
    assert ran.summary == ("" if code == 2 else "# A report\n")


def test_an_inconclusive_comparison_can_be_made_to_fail(tmp_path: Path) -> None:
    ran = run_step(tmp_path, AB, "Compare", CODE="3", INCONCLUSIVE="fail")

    assert ran.code == 3
    assert ran.summary == "# A report\n"


@pytest.mark.parametrize(
    ("code", "more_calls", "ends", "warning"),
    [
        (0, "fail", 0, ""),
        (1, "fail", 1, ""),
        (1, "warn", 0, "A page takes more calls than before."),
        (2, "warn", 2, ""),
        (3, "fail", 0, "The counts do not repeat here."),
    ],
)
def test_more_calls_fail_before_anything_is_timed_unless_they_only_warn(
    tmp_path: Path, code: int, more_calls: str, ends: int, warning: str
) -> None:
    ran = run_step(
        tmp_path,
        AB,
        "Count calls",
        CODE=str(code),
        MORE_CALLS=more_calls,
        STRATEGY="generators",
    )

    assert ran.code == ends, ran.out
    assert ran.out.strip() == (f"::warning title=inflight::{warning}" if warning else "")
    assert ran.asked == [
        *("ab", "generators@ba5e", "generators@4ead", "--repo", ".", "--metric", "calls"),
        *("--markdown", str(tmp_path / "GITHUB_STEP_SUMMARY"), "--out", "results"),
    ]


def test_base_and_head_of_a_strategy_are_compared_in_one_command(tmp_path: Path) -> None:
    ran = run_step(tmp_path, AB, "Compare", CODE="0", STRATEGY="generators")

    assert ran.asked == [
        *("ab", "generators@ba5e", "generators@4ead", "--repo", ".", "--budget", "5m"),
        *("--markdown", str(tmp_path / "GITHUB_STEP_SUMMARY"), "--out", "results"),
    ]


@pytest.mark.ci
@pytest.mark.parametrize(("work", "code"), [(100, 0), (100_000, 1)])
def test_the_benchmarks_of_base_and_head_are_run_each_in_its_own_folder_and_compared(
    tmp_path: Path, work: int, code: int
) -> None:
    folders = {"base": tmp_path / "before", "head": tmp_path / "workspace"}
    for (side, folder), pages in zip(folders.items(), (50_000, work), strict=True):
        folder.mkdir()
        text = BENCHMARK.format(side=side, pages=pages)
        (folder / "test_crawler.py").write_text(text, encoding="utf-8")

    assert run_step(tmp_path, PYTEST, "Measure", BASE_FOLDER=str(folders["base"])).code == 0
    ran = run_step(tmp_path, PYTEST, "Compare")

    assert ran.code == code, ran.out
    assert (folders["head"] / "results" / "compare.txt").read_text("utf-8") in ran.out
    for side in folders:
        (benchmark,) = json.loads((folders["head"] / "results" / f"{side}.json").read_text("utf-8"))["benchmarks"]
        assert benchmark["extra_info"] == {"side": side}
        assert benchmark["fullname"] == "test_crawler.py::test_sum"


def test_the_command_has_the_options_that_the_workflow_gives_it() -> None:
    from inflight.bench.cli import main

    (words,) = re.findall(r"inflight ab ((?:.*\\\n)*.*?)(?: >| \|\|)", shell(AB, "Compare"))
    given = set(re.findall(r"--[a-z-]+", words))

    assert given <= {option for parameter in main.commands["ab"].params for option in parameter.opts}
