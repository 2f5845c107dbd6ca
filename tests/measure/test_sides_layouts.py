"""Strategies that import their core by its old name, ``strategies.core``, compared with those that use the new one."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from inflight.bench.measure.blocks import sides
from inflight.bench.measure.process import environment
from inflight.bench.plan.arm import Arm
from tests.ab.repositories import (
    HONEST,
    NO_CONFIG,
    NOW,
    ONCE,
    arm,
    commit,
    copy_strategies,
    git,
    name_as_once,
    with_mine,
)

LOADED = """
import importlib, json, sys
for name in sys.argv[2:]:
    importlib.import_module(name)
from inflight import strategies
strategies.load(sys.argv[1])
print(json.dumps([[name, id(module), module.__name__, module.__spec__.name, module.__file__]
                  for name, module in sys.modules.items() if "strategies" in name]))
"""
WORKER, FRONTIER_ONCE = "inflight.bench.measure.worker.arm", "strategies.core.frontier"


@pytest.fixture(autouse=True)
def _no_git_config(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in NO_CONFIG.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository whose tag ``once`` has the old name, and its ``main`` the new one."""
    folder = name_as_once(copy_strategies(tmp_path / "repository"))
    git(folder, "init", "--quiet")
    commit(folder, "with the old name")
    git(folder, "tag", "once")
    shutil.rmtree(folder / "strategies")
    copy_strategies(folder)
    commit(folder, "with the new name")
    return folder


def loaded(side: Arm, folder: Path, *first: str) -> list[tuple[str, int, str, str, str]]:
    """Return what a worker of a side has of strategies: name, identity, the module's own two names, file."""
    runtime = sides.prepare(side, folder).runtime
    done = subprocess.run(
        [sys.executable, "-P", "-c", LOADED, side.strategy, *first],
        env=environment(runtime), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return [tuple(line) for line in json.loads(done.stdout)]


@pytest.mark.parametrize("first", [[FRONTIER_ONCE, WORKER], [WORKER, FRONTIER_ONCE]])
@pytest.mark.parametrize("revision", ["once", "main"])
def test_each_module_of_a_side_is_loaded_once_from_its_own_folder(
    repository: Path, tmp_path: Path, revision: str, first: list[str]
) -> None:
    found = loaded(arm("generators", revision, repository), tmp_path / "side", *first)

    assert {f"{NOW}.generators", f"{NOW}.core.frontier"} <= {name for name, *_ in found}
    assert (FRONTIER_ONCE in {name for name, *_ in found}) == (revision == "once" or FRONTIER_ONCE in first)
    assert len({identity for _, identity, *_ in found}) == len({file for *_, file in found})
    for _, _, own, of_spec, file in found:
        assert own == of_spec
        assert own.startswith(NOW)
        assert Path(file).is_relative_to(tmp_path / "side")


@pytest.mark.parametrize("name", [NOW, ONCE])
def test_a_third_party_strategy_may_import_the_package_by_either_name(tmp_path: Path, name: str) -> None:
    folder = with_mine(tmp_path / "fork", HONEST)
    file = folder / "strategies" / "mine.py"
    file.write_text(file.read_text(encoding="utf-8").replace(f"from {NOW}", f"from {name}"), encoding="utf-8")

    found = loaded(arm("mine", None, folder), tmp_path / "side", WORKER)

    assert len({identity for _, identity, *_ in found}) == len({file for *_, file in found})
    assert f"{NOW}.callbacks" in {own for _, _, own, *_ in found}
