"""What README.md and docs/ quote of the stored runs: written between marks, and up to date."""

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.document.made_runs import store
from tests.made_rows import crawl_row, grid
from tools.document import __main__ as program
from tools.document import first_run
from tools.document.__main__ import document
from tools.document.stored import REFERENCE, newest

ROOT = Path(__file__).parents[2]
MARKED = "# before\n<!-- quick: begin -->\nold\n<!-- quick: end -->\nafter\n"
PARTS = {"quick": first_run.part}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a README and a stored run, where nothing else quotes anything."""
    monkeypatch.setattr(program, "PAGES", {"README.md": PARTS})
    monkeypatch.setattr(program, "FILES", {"moving.svg": lambda runs: f"<svg>{runs.name}</svg>"})
    (tmp_path / "README.md").write_text(MARKED, encoding="utf-8")
    store(tmp_path / REFERENCE / "20260101T000000000Z-a-quick", grid(["one"]))
    return tmp_path


@pytest.mark.ci
def test_writing_the_documents_again_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["document", "--check"])

    assert program.main() == 0, capsys.readouterr().err


@pytest.mark.night
def test_a_part_is_written_between_its_marks_and_then_up_to_date(root: Path) -> None:
    assert document(root, is_check=True) == 1
    assert document(root, is_check=False) == 0
    assert document(root, is_check=True) == 0

    text = (root / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# before\n<!-- quick: begin -->\nMade by")
    assert text.endswith("\n<!-- quick: end -->\nafter\n")
    assert "\nold\n" not in text
    assert (root / "moving.svg").read_text(encoding="utf-8") == "<svg>reference</svg>"


@pytest.mark.night
def test_the_newest_run_of_an_experiment_is_taken(tmp_path: Path) -> None:
    for name in ("20260101T0-b-quick", "20260301T0-a-quick", "20260201T0-c-quick", "20260401T0-d-memory"):
        store(tmp_path / name, [crawl_row()])

    assert newest(tmp_path, "quick").folder.name == "20260301T0-a-quick"
    assert newest(tmp_path, "memory").folder.name == "20260401T0-d-memory"


@pytest.mark.night
def test_every_target_of_make_in_the_readme_is_one() -> None:
    targets = re.findall(r"^([a-z0-9%-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    used = set(re.findall(r"(?:`|^)make ([a-z0-9-]+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE))

    assert {"run", "test"} <= used
    assert [one for one in used if not any(fnmatch(one, target.replace("%", "*")) for target in targets)] == []
