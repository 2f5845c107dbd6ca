"""The tool that plants bugs: what it draws, what it writes, and that child processes import it."""

import subprocess
from pathlib import Path

import pytest

from tools.mutants.__main__ import ROOMS, files, lower, share_text, table
from tools.mutants.copies import Copy
from tools.mutants.draw import is_python, mutated, ranked, sites

ROOT = Path(__file__).parents[1]
SOURCE = '''"""A module, 1 < 2."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import json

WIDE = 4096


def found(values: "list[int]", most: int = 3) -> int:
    """Return 1."""
    if not values or most is None:
        raise ValueError(f"{1 + 1} of", 2)
    for value in values:
        if value >= most:
            values.remove(
                value
            )
    return max(1, 2) if values else divmod(most, 7)[0]
'''


def mutants(source: str) -> set[tuple[str, str, str]]:
    return {(site.kind, site.before, site.after) for site in sites(source, "a.py")}


def test_each_kind_of_mutation_is_found_and_nothing_in_texts_types_and_errors() -> None:
    assert mutants(SOURCE) == {
        ("plus one", "3", "4"), ("minus one", "3", "2"),
        ("plus one", "1", "2"), ("minus one", "1", "0"), ("plus one", "2", "3"), ("minus one", "2", "1"),
        ("plus one", "7", "8"), ("minus one", "7", "6"), ("plus one", "0", "1"), ("minus one", "0", "-1"),
        ("comparison", "most is None", "most is not None"),
        ("comparison", "value >= most", "value > most"),
        ("negated condition", "not values or most is None", "not (not values or most is None)"),
        ("negated condition", "value >= most", "not (value >= most)"),
        ("negated condition", "values", "not (values)"),
        ("dropped call", "values.remove(\n                value\n            )", "pass\n\n"),
        ("swapped arguments", "divmod(most, 7)", "divmod(7, most)"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("source", "after"),
    {
        "if not a: b": "if (a): b",
        "x = 0 < a <= 3": "x = 0 <= a <= 3",
        "x = a not in b": "x = a in b",
        "x = [a for a in b if a]": "x = [a for a in b if not (a)]",
        "x = 'é' == a": "x = 'é' != a",
        "async def f(): await g()": "async def f(): pass",
        "f((a), (b), c)": "f((b), (a), c)",
    }.items(),
)
def test_a_mutation_replaces_its_part_of_the_text(source: str, after: str) -> None:
    assert after in {mutated(source.encode(), site).decode() for site in sites(source, "a.py")}


def test_lines_stay_where_they_are_and_all_of_it_is_python() -> None:
    for site in sites(SOURCE, "a.py"):
        text = mutated(SOURCE.encode(), site)
        assert text.count(b"\n") == SOURCE.count("\n")
        assert is_python(text)


def test_the_draw_is_the_same_when_code_moves_and_a_file_is_renamed() -> None:
    head, function = SOURCE[: SOURCE.index("def found")], SOURCE[SOURCE.index("def found") :]

    def drawn(sources: dict[str, str]) -> list[tuple[str, str, str]]:
        return [(one.rank, one.site.kind, one.site.after) for one in ranked("core", sources, 1)]

    moved = {"z.py": head.replace("4096", "4096  # bytes"), "new/b.py": f"# a comment\n{function}"}
    assert drawn(moved) == drawn({"a.py": SOURCE})
    assert [rank for rank, *_ in drawn(moved)] != [one.rank for one in ranked("core", moved, 2)]


def test_every_room_has_files_and_a_wrong_entry_is_refused(tmp_path: Path) -> None:
    assert all(files(ROOT, room) for room in ROOMS.values())
    with pytest.raises(SystemExit, match="matches no file"):
        files(tmp_path, ROOMS["core"])


def test_child_processes_import_the_mutant_and_then_the_code_as_it_was(tmp_path: Path) -> None:
    checkout = tmp_path / "project"
    (checkout / "inflight").mkdir(parents=True)
    (checkout / "part").mkdir()
    (checkout / "inflight" / "part").symlink_to("../part")
    (checkout / "inflight" / "__init__.py").touch()
    (checkout / "part" / "__init__.py").write_text("WHICH = 1 + 5\n")
    subprocess.run(["git", "init", "--quiet", checkout], check=True)
    place = Copy(checkout, tmp_path / "copies")

    def imported() -> str:
        command = [
            str(place.venv / "bin" / "python"),
            "-c",
            "import inflight.part as part; print(part.WHICH)",
        ]
        return subprocess.check_output(command, cwd="/", env={}, text=True).strip()

    one, other = [site for site in sites("WHICH = 1 + 5\n", "part/__init__.py") if site.kind == "plus one"]
    seen = [imported()]
    for site in (one, other):
        with place.with_mutant(site):
            seen.append(imported())
    seen.append(imported())

    assert seen == ["6", "7", "7", "6"]
    assert (checkout / "part" / "__init__.py").read_text() == "WHICH = 1 + 5\n"


def test_the_table_counts_per_set_and_a_lower_share_is_a_sentence() -> None:
    lines = [{"room": "rows", "status": "killed", "by": by} for by in ("test", "test", "test-all")]
    counts = table([*lines, {"room": "rows", "status": "survived", "by": None}])

    assert counts == {"rows": {"drawn": 4, "test": 2, "test-all": 3}}
    assert "rows             4            2 ( 50.0%)         3 ( 75.0%)" in share_text(counts)
    assert lower(counts, {"rows": {"drawn": 8, "test": 4, "test-all": 7}}) == [
        "rows: make test-all kills 3 of 4 mutants; it killed 7 of 8"
    ]
