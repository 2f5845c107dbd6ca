"""The plots that lie beside the reference runs, and that README.md and docs/ show, are those that the code draws."""

import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tools.document import plots

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


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_the_stored_plots_are_those_of_the_code(run: Path, tmp_path: Path) -> None:
    made = plots.save(run, tmp_path)

    assert {path.name for path in made} == {path.name for path in (run / "plots").iterdir()}
    for path in made:
        if path.suffix == ".svg":
            stored = run / "plots" / path.name
            assert texts_and_styles(stored) == texts_and_styles(path)
            assert colours(stored) == colours(path)


def test_plots_are_drawn_again_and_those_that_are_no_longer_drawn_are_removed(tmp_path: Path) -> None:
    run = tmp_path / "20260102T030405678Z-host-limits"
    shutil.copytree(next(run for run in RUNS if run.name.endswith("-limits")), run)
    stored = (run / "plots" / "ramp.svg").read_bytes()
    (run / "plots" / "ramp.svg").write_text("old")
    (run / "plots" / "throughput-9.svg").write_text("no longer drawn")

    plots.renew_all(tmp_path)

    assert sorted(path.name for path in (run / "plots").iterdir()) == ["ramp.png", "ramp.svg"]
    assert (run / "plots" / "ramp.svg").read_bytes().count(b"<text") == stored.count(b"<text")
    once = (run / "plots" / "ramp.svg").read_bytes()
    plots.renew_all(tmp_path)
    assert (run / "plots" / "ramp.svg").read_bytes() == once
