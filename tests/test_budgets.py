"""The size of each room: at most the lines of Python that docs/architecture.md gives it. Budgets only shrink."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## Budgets")[2]
BUDGETS = {
    place: int(most.replace(",", "")) for place, most in re.findall(r"^\| `(.+)/` \| ([\d,]+) \|", PAGE, re.MULTILINE)
}


def lines_in(place: Path) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in place.rglob("*.py"))


@pytest.mark.parametrize("place", BUDGETS)
def test_a_room_keeps_within_its_budget(place: str) -> None:
    assert 0 < lines_in(ROOT / place) <= BUDGETS[place]


def test_every_room_has_a_budget() -> None:
    rooms = {f"bench/{path.name}" for path in (ROOT / "bench").iterdir() if (path / "__init__.py").exists()}

    assert set(BUDGETS) == rooms | {"bench", "conformance", "tests", "tools"}
