"""What a series of real decisions came to: a line for each kind, and a table between the marks of a page."""

import json
from pathlib import Path

import pytest

from bench.present.readme import ReadmeError
from tools import selftest_long
from tools.selftest_long import DECISIONS_FILE, MARKS, Made, kinds, summary, with_series

MADE = [
    Made("aa-0", "pass", 12, 30.0, 0.004, "quiet"),
    Made("planted-5-0", "regression", 12, 40.0, 0.05, "worse"),
    Made("aa-1", "inconclusive", 48, 200.0, None, "too noisy"),
    Made("planted-5-1", "regression", 24, 60.0, 0.06, "worse"),
]
HEAD = "| decisions | neighbour | verdicts | seen as | blocks | seconds | at most |"


def test_each_kind_has_its_verdicts_and_means() -> None:
    same, planted = kinds(MADE)

    assert (same.name, same.decisions, dict(same.verdicts)) == (
        "aa", 2, {"regression": 0, "pass": 1, "inconclusive": 1}
    )  # fmt: skip
    assert (same.seen, same.blocks, same.mean_s, same.most_s) == (0.004, 30.0, 115.0, 200.0)
    assert planted.seen == pytest.approx(0.055)
    assert (planted.verdicts["regression"], planted.most_s) == (2, 60.0)
    assert len(summary(MADE)) == 2


def test_the_stored_series_are_a_table_between_the_marks(tmp_path: Path) -> None:
    for name, machine in (("1-quiet", {}), ("2-spin", {"neighbour": "spin"})):
        (tmp_path / name).mkdir()
        lines = [json.dumps({key: getattr(one, key) for key in Made.__slots__}) for one in MADE]
        (tmp_path / name / DECISIONS_FILE).write_text("\n".join(lines) + "\n", encoding="utf-8")
        (tmp_path / name / "machine.json").write_text(json.dumps(machine), encoding="utf-8")

    lines = with_series("a\n{}\nold\n{}\nb".format(*MARKS), tmp_path, "page").splitlines()

    assert (lines[0], lines[2], lines[-1], "old" in lines) == ("a", HEAD, "b", False)
    assert (
        lines[4] == "| 2 without a change | none | 0 regression, 1 pass, 1 inconclusive | +0.4 % | 30.0 | 115 | 200 |"
    )
    assert [line.split(" | ")[1] for line in lines[4:8]] == ["none", "none", "spin", "spin"]


def test_a_page_without_marks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReadmeError, match="needs the line"):
        with_series("nothing", tmp_path, "page")


def test_the_page_on_method_has_the_table_of_the_stored_series() -> None:
    root = Path(__file__).parents[2]
    text = (root / "docs" / "method.md").read_text(encoding="utf-8")

    assert with_series(text, root / selftest_long.STORED, "method.md") == text, "run `make readme`"
