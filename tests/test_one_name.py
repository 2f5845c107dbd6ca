"""All that is ours is below one name, ``inflight``, and no module is loaded by two."""

import ast
import json
import re
import sys
from pathlib import Path

import pytest

from tests.processes import run_to_end

ROOT = Path(__file__).parents[1]
FOLDERS = ("bench", "conformance", "fake_server", "strategies")
PROGRAMS = sorted(path for folder in (*FOLDERS, "tests", "tools", "docs") for path in (ROOT / folder).rglob("*.py"))
BARE = re.compile(rf"^\s*(from|import) ({'|'.join(FOLDERS)})\b", re.MULTILINE)
"""What may be an import of a folder of ours by its own name, or stands in a text: a syntax tree takes long."""
LOAD_ALL = """
import importlib, json, pkgutil, sys
import inflight
for found in pkgutil.walk_packages(inflight.__path__, "inflight."):
    if "locust" in found.name or found.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(found.name)
    except ImportError as error:
        if error.name.startswith("inflight"):
            raise  # otherwise a strategy needs a library that is not installed, or a newer Python
ours = {name: module.__file__ for name, module in sys.modules.items() if name.partition(".")[0] in sys.argv[1:]}
print(json.dumps(ours))
"""


def imports(text: str) -> set[str]:
    """Return the first parts of all names that a program imports."""
    nodes = list(ast.walk(ast.parse(text)))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return {name.partition(".")[0] for name in plain} | {
        node.module.partition(".")[0] for node in nodes if isinstance(node, ast.ImportFrom) and node.module
    }


def test_nothing_of_ours_is_imported_without_its_first_name() -> None:
    texts = {path: path.read_text("utf-8") for path in PROGRAMS}

    assert [path for path, text in texts.items() if BARE.search(text) and imports(text) & set(FOLDERS)] == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_package_leads_to_the_folders_of_the_checkout(folder: str) -> None:
    link = ROOT / "inflight" / folder

    assert link.is_symlink()
    assert link.readlink() == Path("..") / folder
    assert not (ROOT / folder / "py.typed").exists()


def test_every_module_has_one_name() -> None:
    done = run_to_end(
        [
            sys.executable,
            "-P",
            "-c",
            LOAD_ALL,
            "inflight",
            *FOLDERS,
        ],
        env={"PYTHONPATH": str(ROOT)},
        check=True,
    )
    ours = json.loads(done.stdout)

    assert {name for name in ours if not name.startswith("inflight")} == set()
    files = [Path(file).resolve() for file in ours.values()]
    assert len(set(files)) == len(files) > 200
