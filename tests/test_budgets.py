"""docs/architecture.md: the rooms keep within its budgets, and each module of bench has a line in its map."""

import re
from pathlib import Path

import pytest

from tools.size import PAGE, ROOT, Size, read_budgets, size_of, sizes_of_rooms


def test_each_room_keeps_within_its_budget() -> None:
    sizes, budgets = sizes_of_rooms(), read_budgets()

    assert budgets.keys() == sizes.keys()
    assert {room: size.tokens for room, size in sizes.items() if size.tokens > budgets[room][0]} == {}
    too_dense = {
        room: size.tokens_per_line for room, size in sizes.items() if round(size.tokens_per_line, 1) > budgets[room][1]
    }
    assert too_dense == {}


@pytest.mark.parametrize(
    ("text", "tokens", "lines"),
    [
        ("", 0, 0),
        ('"""What it is."""\nimport os\n\n# why\n', 0, 0),
        ("x = 1\n", 3, 1),
        ("x = (\n    1,\n)\n", 6, 3),
        ('def f() -> int:\n    """Return it."""\n    return 1\n', 9, 2),
        ('class A:\n    x: int\n    """What x is."""\n', 6, 2),
        ('x = f"{a + b!r:>{width}} {f(1)}"\n', 3, 1),
    ],
)
def test_ideas_are_counted_and_layout_is_free(text: str, tokens: int, lines: int, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(text, "utf-8")

    assert size_of(tmp_path / "a.py") == Size(tokens, lines)


def test_each_module_has_a_line_in_the_map() -> None:
    folder, places = "", []
    for line in PAGE.read_text("utf-8").split("## What is where")[1].split("```")[1].splitlines():
        if line.startswith("bench/"):
            folder = line.split()[0]
        elif line.strip():
            places.append(folder + line.split()[0])

    modules = [path.relative_to(ROOT).with_suffix("") for path in (ROOT / "bench").rglob("*.py")]
    expected = {str(path) for path in modules if path.name != "__init__"}
    packages = {f"{path.parent}/" for path in modules if path.name == "__init__"}
    assert expected - {*places} == set()
    assert {*places} - expected <= packages
    assert len(places) == len({*places})


def test_the_page_is_short() -> None:
    assert len(re.findall(r"\S+", PAGE.read_text("utf-8"))) <= 2400
