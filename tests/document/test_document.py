"""What README.md and docs/ quote of the stored runs: written between marks, and up to date."""

import re
from pathlib import Path

import pytest

from tests.document.made_runs import store
from tests.made_rows import crawl_row, grid, memory_rows
from tools.document import __main__ as program
from tools.document import claims, first_run, memory
from tools.document.__main__ import FILES, PAGES, document, renewed
from tools.document.stored import REFERENCE, DocumentError, newest, replaced

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


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_quote_the_reference_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "PAGES", {name: PAGES[name]})
    monkeypatch.setattr(program, "FILES", {})

    assert document(ROOT, is_check=True) == 0, "run `make readme`"


@pytest.mark.parametrize("name", FILES)
def test_the_files_are_made_of_the_reference_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "PAGES", {})
    monkeypatch.setattr(program, "FILES", {name: FILES[name]})

    assert document(ROOT, is_check=True) == 0, "run `make readme`"


def test_a_file_that_is_not_there_is_written(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "docs").mkdir()
    monkeypatch.setattr(program, "FILES", {"docs/whole.html": lambda runs: f"{newest(runs, 'quick').folder.name}\n"})

    assert document(root, is_check=False) == 0

    assert (root / "docs" / "whole.html").read_text(encoding="utf-8") == "20260101T000000000Z-a-quick\n"


def test_a_part_is_written_between_its_marks_and_then_up_to_date(root: Path) -> None:
    assert document(root, is_check=True) == 1
    assert document(root, is_check=False) == 0
    assert document(root, is_check=True) == 0

    text = (root / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# before\n<!-- quick: begin -->\nMade by")
    assert text.endswith("\n<!-- quick: end -->\nafter\n")
    assert "\nold\n" not in text
    assert (root / "moving.svg").read_text(encoding="utf-8") == "<svg>reference</svg>"


def test_check_writes_nothing_and_prints_what_to_do(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert document(root, is_check=True) == 1

    assert (root / "README.md").read_text(encoding="utf-8") == MARKED
    assert "README.md is not up to date; run `make readme`" in capsys.readouterr().err


def test_the_newest_run_of_an_experiment_is_taken(tmp_path: Path) -> None:
    for name in ("20260101T0-b-quick", "20260301T0-a-quick", "20260201T0-c-quick", "20260401T0-d-memory"):
        store(tmp_path / name, [crawl_row()])

    assert newest(tmp_path, "quick").folder.name == "20260301T0-a-quick"
    assert newest(tmp_path, "memory").folder.name == "20260401T0-d-memory"


def test_an_experiment_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="no run of claims in"):
        newest(tmp_path, "claims")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<!-- part: begin -->",
        "<!-- part: end -->\n<!-- part: begin -->",
        "<!-- part: begin --><!-- part: begin --><!-- part: end -->",
    ],
)
def test_a_page_without_both_marks_is_refused(text: str) -> None:
    with pytest.raises(DocumentError, match="it needs the line <!-- part: begin -->"):
        replaced(text, "part", "new")


def test_a_page_without_its_marks_is_named_and_not_changed(root: Path) -> None:
    (root / "README.md").write_text("nothing", encoding="utf-8")

    with pytest.raises(DocumentError, match=r"^README\.md: it needs the line"):
        document(root, is_check=False)
    assert (root / "README.md").read_text(encoding="utf-8") == "nothing"


def test_a_machine_that_is_not_json_is_named(root: Path) -> None:
    (newest(root / REFERENCE, "quick").folder / "machine.json").write_text("{", encoding="utf-8")

    with pytest.raises(DocumentError, match=r"machine\.json is not JSON"):
        document(root, is_check=True)


def test_plots_are_shown_where_a_run_has_them(tmp_path: Path) -> None:
    folder = store(tmp_path / "runs" / "20260103T0-host-memory", [memory_rows()[0]])
    text = "<!-- memory: begin -->\n<!-- memory: end -->"

    assert "![" not in renewed(text, {"memory": memory.layers}, tmp_path / "runs", tmp_path)

    (folder / "plots").mkdir()
    (folder / "plots" / "layers.svg").write_text("<svg/>", encoding="utf-8")

    shown = renewed(text, {"memory": memory.layers}, tmp_path / "runs", tmp_path / "docs")
    assert "![Memory per task, in layers](../runs/20260103T0-host-memory/plots/layers.svg)" in shown


def test_a_run_of_claims_without_its_verdicts_is_one_sentence(tmp_path: Path) -> None:
    store(tmp_path / "20260101T0-host-claims", [crawl_row()])

    with pytest.raises(DocumentError, match=r"claims\.json"):
        claims.part(tmp_path, tmp_path)


# README.md itself


README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES_WITH_LINKS = [ROOT / name for name in PAGES]


@pytest.mark.parametrize("page", PAGES_WITH_LINKS, ids=lambda page: page.name)
def test_every_file_that_a_page_links_to_is_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))

    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_the_readme_can_be_read_in_two_minutes() -> None:
    assert len(README.encode()) < 9000
    assert len(README.splitlines()) < 150


def test_every_target_of_make_in_the_readme_is_one() -> None:
    targets = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    used = set(re.findall(r"(?:`|^)make ([a-z0-9-]+)", README, re.MULTILINE))

    exercises = {f"exercise-{number}" for number in range(1, 7)}  # the pattern exercise-%
    assert {"run", "test"} <= used <= {*targets, *exercises}


def test_every_example_in_python_calls_what_the_package_offers() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)

    tree = compile(example, "README.md", "exec")
    assert {"load", "run", "plot_throughput", "cells"} <= set(tree.co_names)
