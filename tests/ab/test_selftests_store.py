"""The self-test that a verdict quotes: the newest one of a machine like this."""

import json
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.core import selftests
from inflight.bench.rows import files as rows

MACHINE = {"cpu": "Imaginary 9000", "system": "Linux 6.1", "usable_cores": 4, "python": "CPython 3.11.7", "host": "x"}
SEEN = {"seen": 0.048, "low": 0.041, "high": 0.055}


def whole(made_at: str | None = "2026-01-01T00:00:00+00:00", **changed: Any) -> dict[str, Any]:
    return {
        "format": selftests.FORMAT,
        "made_at": made_at,
        "machine": MACHINE,
        "noise": {"callbacks": {"cpu_per_page": 0.02}},
        "false_alarms": {"real": {"alarms": 0, "decisions": 8, "blocks": 104, "upper": 0.31}},
        "detection": {"5": {"share": 0.98} | SEEN, "10": {"share": 1.0} | SEEN},
    } | changed


def keep(out: Path, name: str, test: object) -> None:
    folder = out / name
    folder.mkdir(parents=True)
    text = test if isinstance(test, str) else json.dumps(test)
    (folder / rows.SELFTEST_FILE).write_text(text, encoding="utf-8")


def test_without_a_self_test_there_is_none(tmp_path: Path) -> None:
    assert selftests.latest([tmp_path], MACHINE) is None
    assert selftests.latest([tmp_path / "missing"], MACHINE) is None


def test_the_self_test_of_two_interpreters_is_used_for_these_two_alone(tmp_path: Path) -> None:
    crossed = whole(interpreters=["3.14.0t", "3.13.0"])
    keep(tmp_path, "a", whole())
    keep(tmp_path, "b", crossed)

    assert selftests.latest([tmp_path], MACHINE) == whole()
    assert selftests.latest([tmp_path], MACHINE, ["3.13.0", "3.14.0t"]) == crossed
    assert selftests.latest([tmp_path], MACHINE, ["3.13.0", "3.13.0"]) is None


def test_the_newest_self_test_is_used_whatever_the_names_of_the_folders(tmp_path: Path) -> None:
    keep(tmp_path, "b-old", whole("2026-01-01T00:00:00+00:00"))
    keep(tmp_path, "a-new", whole("2026-01-03T00:00:00+00:00"))
    keep(tmp_path, "reference/c", whole("2026-01-02T00:00:00+00:00"))

    found = selftests.latest([tmp_path], MACHINE)

    assert found == whole("2026-01-03T00:00:00+00:00")


def test_the_reference_folder_is_searched_too(tmp_path: Path) -> None:
    keep(tmp_path, "reference/c", whole())

    assert selftests.latest([tmp_path], MACHINE) == whole()


@pytest.mark.parametrize("key", ["cpu", "system", "usable_cores", "python"])
def test_a_self_test_of_an_unlike_machine_is_ignored(tmp_path: Path, key: str) -> None:
    keep(tmp_path, "old", whole("2026-01-01T00:00:00+00:00"))
    keep(tmp_path, "new", whole("2026-01-03T00:00:00+00:00", machine=MACHINE | {key: "another"}))
    keep(tmp_path, "newest", whole("2026-01-04T00:00:00+00:00", machine={k: v for k, v in MACHINE.items() if k != key}))

    assert selftests.latest([tmp_path], MACHINE) == whole()


def test_a_self_test_with_a_neighbour_is_used_for_the_same_neighbour_only(tmp_path: Path) -> None:
    keep(tmp_path, "quiet", whole("2026-01-01T00:00:00+00:00"))
    keep(tmp_path, "disturbed", disturbed := whole(machine=MACHINE | {"neighbour": "spin"}))

    assert selftests.latest([tmp_path], MACHINE) == whole()
    assert selftests.latest([tmp_path], MACHINE | {"neighbour": "spin"}) == disturbed
    assert selftests.latest([tmp_path], MACHINE | {"neighbour": "memory"}) is None


def test_a_machine_by_another_name_is_alike(tmp_path: Path) -> None:
    keep(tmp_path, "one", whole(machine=MACHINE | {"host": "renamed"}))

    assert selftests.latest([tmp_path], MACHINE) is not None


RUBBISH: dict[str, object] = {
    "empty": "",
    "no_json": "{",
    "no_object": [],
    "null": None,
    "another_format": whole(format=99),
    "no_format": {"machine": MACHINE},
    "no_machine": whole(machine=None),
    "no_date": whole(made_at=None),
    "nothing_but_the_machine": {"format": selftests.FORMAT, "machine": MACHINE},
    "no_noise": whole(noise=None),
    "noise_without_figures": whole(noise={"callbacks": {}}),
    "noise_that_is_no_number": '{"format": 1, "noise": {"callbacks": {"cpu_per_page": NaN}}}',
    "no_alarms": whole(false_alarms={}),
    "alarms_in_words": whole(false_alarms={"real": {"alarms": "none", "decisions": 1, "blocks": 1, "upper": 0.95}}),
    "detection_of_what": whole(detection={"much": {"share": 1.0} | SEEN}),
    "size_in_words": whole(detection={"5": {"share": 1.0} | SEEN | {"low": "little"}}),
    "interpreters_in_numbers": whole(interpreters=[3.11]),
    "detection_in_words": whole(detection={"5": {"share": "all"} | SEEN}),
}


@pytest.mark.parametrize("name", RUBBISH)
def test_damaged_files_are_ignored(tmp_path: Path, name: str) -> None:
    rubbish = RUBBISH[name]
    newer = rubbish | {"made_at": rubbish.get("made_at", "2027") and "2027"} if isinstance(rubbish, dict) else rubbish
    keep(tmp_path, "old", whole())
    keep(tmp_path, "rubbish", newer)

    assert selftests.latest([tmp_path], MACHINE) == whole()


def test_a_binary_file_and_a_folder_of_that_name_are_ignored(tmp_path: Path) -> None:
    keep(tmp_path, "good", whole())
    keep(tmp_path, "binary", "")
    (tmp_path / "binary" / rows.SELFTEST_FILE).write_bytes(b"\xff\xfe\x00")
    (tmp_path / "folder" / rows.SELFTEST_FILE).mkdir(parents=True)

    assert selftests.latest([tmp_path], MACHINE) == whole()
