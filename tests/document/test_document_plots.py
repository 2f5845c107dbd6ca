"""The plots that lie beside the reference runs, and that README.md and docs/ show, are those that the code draws."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tools.document import plots
from tools.document.__main__ import pages
from tools.document.stored import Runs

pytestmark = pytest.mark.night
REFERENCE = Path(__file__).parents[2] / "results" / "reference"
RUNS = sorted(path.parent for path in REFERENCE.glob("*/plots"))


def texts_and_styles(path: Path) -> list[tuple[str, str]]:
    """Return all texts of an SVG in their order, each with its style; places may differ with the version of a font."""
    found = ET.parse(path).getroot().iter("{http://www.w3.org/2000/svg}text")  # noqa: S314  (we wrote it)
    return [("".join(one.itertext()), one.get("style", "")) for one in found]


def colours(path: Path) -> set[str]:
    styles = [one.get("style", "") for one in ET.parse(path).getroot().iter()]  # noqa: S314  (we wrote it)
    parts = [part.strip() for style in styles for part in style.split(";")]
    return {part for part in parts if part.startswith(("fill:", "stroke:"))}


def test_the_stored_plots_are_those_that_pages_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REFERENCE.parents[1])
    runs = Runs(REFERENCE)

    assert list(pages(runs, Path()))
    assert {run: {path.name for path in (run / "plots").iterdir()} for run in RUNS} == runs.plots


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_the_stored_plots_are_those_of_the_code(run: Path, tmp_path: Path) -> None:
    made = plots.save(run, tmp_path)

    drawn = {path.name: path for path in made}
    for stored in (run / "plots").iterdir():
        assert texts_and_styles(stored) == texts_and_styles(drawn[stored.name])
        assert colours(stored) == colours(drawn[stored.name])
