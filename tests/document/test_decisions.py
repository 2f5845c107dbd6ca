"""What a series of real decisions came to: a line for each kind, and a table for a page."""

import json
from pathlib import Path

import pytest

from tools.document import decisions
from tools.selftest_long import DECISIONS_FILE, Made, kinds, summary

pytestmark = pytest.mark.night
MADE = [
    Made("aa-0", "pass", 12, 30.0, 0.004, "quiet"),
    Made("planted-5-0", "regression", 12, 40.0, 0.05, "worse"),
    Made("aa-1", "inconclusive", 48, 200.0, None, "too noisy"),
    Made("planted-5-1", "regression", 24, 60.0, 0.06, "worse"),
]
HEAD = "| decisions | neighbour | verdicts | mean change | blocks per decision | seconds per decision | longest (s) |"


def test_each_kind_has_its_verdicts_and_means() -> None:
    same, planted = kinds(MADE)

    assert (same.name, same.decisions, dict(same.verdicts)) == (
        "aa", 2, {"regression": 0, "pass": 1, "inconclusive": 1}
    )  # fmt: skip
    assert (same.seen, same.blocks, same.mean_s, same.most_s) == (0.004, 30.0, 115.0, 200.0)
    assert planted.seen == pytest.approx(0.055)
    assert (planted.verdicts["regression"], planted.most_s) == (2, 60.0)
    assert len(summary(MADE)) == 2


def test_the_stored_series_are_a_table(tmp_path: Path) -> None:
    for name, machine in (("1-quiet", {}), ("2-spin", {"neighbour": "spin"})):
        folder = tmp_path / "decisions" / name
        folder.mkdir(parents=True)
        lines = [json.dumps({key: getattr(one, key) for key in Made.__slots__}) for one in MADE]
        (folder / DECISIONS_FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / "machine.json").write_text(json.dumps(machine), encoding="utf-8")

    head, _, *lines = decisions.part(tmp_path / "reference", tmp_path).splitlines()

    assert head == HEAD
    assert (
        lines[0] == "| 2 without a change | none | 0 regression, 1 pass, 1 inconclusive | +0.4 % | 30.0 | 115 | 200 |"
    )
    assert [line.split(" | ")[1] for line in lines] == ["none", "none", "spin", "spin"]
