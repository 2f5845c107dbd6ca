"""The recipe of docs/pytest.md, taken from there and followed to the letter in a new folder."""

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.plugin.projects import assert_passed, run_pytest, write

pytestmark = pytest.mark.night
DOCS = Path(__file__).parents[2] / "docs"
RECIPE = (DOCS / "pytest.md").read_text("utf-8")
FILES = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", RECIPE, re.DOTALL))
COMMANDS = [
    shlex.split(line) for block in re.findall(r"```sh\n(.*?)```", RECIPE, re.DOTALL) for line in block.splitlines()
]
SAVE, COMPARE, CPU_TIME = (command[1:] for command in COMMANDS)


def test_the_recipe_works_in_a_new_project(tmp_path: Path) -> None:
    project = write(tmp_path, **FILES)

    assert_passed(run_pytest(project, *SAVE), 1)
    again = run_pytest(project, *not_failing(COMPARE), "--benchmark-autosave")

    assert_passed(again, 1)
    assert "Comparing against benchmarks from: " in again.stdout + again.stderr
    assert len(saved(project)) == 2
    assert_passed(run_pytest(project, *CPU_TIME), 1)


def test_the_recipe_fails_when_the_crawler_is_slower_or_wrong(tmp_path: Path) -> None:
    project = write(tmp_path, **FILES)
    assert_passed(run_pytest(project, *SAVE), 1)

    make_faster(*saved(project))
    slower = run_pytest(project, *COMPARE)
    assert "Performance has regressed" in slower.stdout + slower.stderr
    assert slower.returncode == pytest.ExitCode.TESTS_FAILED

    forgetful = FILES["crawler"].replace("    return found", "    found.popitem()\n    return found")
    wrong = run_pytest(write(project, crawler=forgetful))
    assert "1 failed" in wrong.stdout
    assert "1 pages missing, 0 too many, 0 different; for example /" in wrong.stdout


def test_the_limit_of_calls_holds_for_callbacks_and_not_for_asyncio(tmp_path: Path) -> None:
    (test,) = re.findall(r"```python\n(def test_calls.*?)```", RECIPE, re.DOTALL)
    assert "< 240," in test, "a limit for aiohttp"
    test = test.replace("240", "40")

    for model, outcome in (("callbacks", "1 passed"), ("native_asyncio", "1 failed")):
        client = f'"Our client."\n\nfrom inflight.strategies.{model} import crawl\n\nSTACK = "shared"\nREQUIRES = ()\n'
        done = run_pytest(write(tmp_path, my_client=client, test_calls=test))
        assert outcome in done.stdout, done.stdout


def not_failing(options: list[str]) -> list[str]:
    """Leave out the option that makes a test of this machine's speed."""
    return [option for option in options if not option.startswith("--benchmark-compare-fail")]


def make_faster(file: Path) -> None:
    """Divide what was measured by a hundred, so that whatever is measured next is slower."""
    values = json.loads(file.read_text("utf-8"))
    for benchmark in values["benchmarks"]:
        stats = benchmark["stats"]
        stats |= {key: stats[key] / 100 for key in ("min", "max", "mean", "median")}
        if "data" in stats:
            stats["data"] = [value / 100 for value in stats["data"]]
    file.write_text(json.dumps(values), "utf-8")


def saved(project: Path) -> list[Path]:
    return list((project / ".benchmarks").rglob("*.json"))
