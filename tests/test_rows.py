"""The row format: what is written is what is read, and what is no row is refused with one sentence."""

import json
import re
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from inflight.bench.rows import files as rows
from inflight.bench.rows import records, schema
from inflight.bench.rows.files import Check, Kind, Row, RowsError
from inflight.bench.show.progress import trial_line
from tests.made_rows import RECORDED, edited, recorded
from tools import series

SCHEMA = json.loads(rows.SCHEMA_FILE.read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
RUNS = sorted(path.parent.name for path in RECORDED.glob("*/rows.jsonl.xz"))
RECORDINGS = {(row.kind, row.status): row for run in RUNS for row in recorded(run)}
"""A recorded row of each kind and status that recordings have."""
ROWS: dict[str, Row] = {kind: RECORDINGS[kind, "ok"] for kind in get_args(Kind)}
CRAWL, SWARM = ROWS["crawl"], ROWS["swarm"]
ENDED = [
    records.changed(
        row,
        status=status,
        reason="for a reason",
        measured={},
        server={},
        knobs={},
        checks=(),
    )
    for row in ROWS.values()
    for status in ("wrong", "failed", "timeout", "skipped")
]
ALL_KINDS = [*RECORDINGS.values(), *ENDED]


def refusal(row: Row, changes: dict[str, Any]) -> str:
    """Return why a row with other values is refused; of a part, only the values that are given are others."""
    values = json.loads(row.to_json())
    for key, value in changes.items():
        values[key] = values[key] | value if isinstance(value, dict) and value else value
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is judged by those who call this
        records.read(json.dumps(values))
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) <= records.MAX_MESSAGE + 3
    return sentence


def changed(row: Row, **values: Any) -> dict[str, Any]:
    """Return the row as JSON values, with some changed; None takes a key away."""
    before = json.loads(row.to_json())
    return {key: value for key, value in (before | values).items() if key not in values or value is not None}


def write(folder: Path, *lines: str) -> Path:
    (folder / rows.ROWS_FILE).write_text("".join(lines), "utf-8")
    return folder


@pytest.mark.parametrize("row", ALL_KINDS, ids=lambda row: f"{row.kind}-{row.status}")
def test_a_row_survives_json_is_valid_by_the_schema_and_has_a_line_of_progress(row: Row) -> None:
    line = row.to_json()

    assert "\n" not in line
    assert records.read(line) == row
    VALIDATOR.validate(json.loads(line))
    assert row.arm in trial_line(1, 1, row)


def test_rows_are_read_in_the_order_in_which_they_were_appended(tmp_path: Path) -> None:
    for row in ALL_KINDS:
        rows.append(tmp_path, row)

    assert rows.read(tmp_path) == ALL_KINDS


def test_a_half_written_last_line_is_left_out(tmp_path: Path) -> None:
    write(tmp_path, CRAWL.to_json(), "\n", SWARM.to_json()[:100])

    assert rows.read(tmp_path) == [CRAWL]


def test_a_last_line_that_only_lacks_its_end_is_left_out_too_since_nobody_can_tell(tmp_path: Path) -> None:
    write(tmp_path, CRAWL.to_json())

    assert rows.read(tmp_path) == []


@pytest.mark.parametrize(
    "keep",
    [slice(0, 0), slice(0, -20), slice(20, None)],
    ids=["empty", "cut off", "no head"],
)
def test_damaged_packed_rows_are_refused(keep: slice, tmp_path: Path) -> None:
    write(tmp_path, CRAWL.to_json(), "\n")
    series.pack(tmp_path)
    packed = tmp_path / rows.PACKED_FILE
    packed.write_bytes(packed.read_bytes()[keep])

    with pytest.raises(RowsError, match=r"rows\.jsonl\.xz is damaged or not whole"):
        rows.read(tmp_path)


def test_after_an_interruption_the_next_row_begins_on_a_line_of_its_own(tmp_path: Path) -> None:
    first, second = CRAWL, edited(CRAWL, round=2)
    write(tmp_path, first.to_json(), "\n", second.to_json()[:50])

    rows.drop_unfinished(tmp_path)
    rows.append(tmp_path, second)

    assert rows.read(tmp_path) == [first, second]


def test_there_is_nothing_to_drop_where_there_are_no_rows(tmp_path: Path) -> None:
    rows.drop_unfinished(tmp_path)

    assert not (tmp_path / rows.ROWS_FILE).exists()


def test_a_newer_format_is_refused_with_both_numbers(tmp_path: Path) -> None:
    newer = json.dumps(changed(CRAWL, format=rows.FORMAT + 1))
    write(tmp_path, CRAWL.to_json(), "\n", newer, "\n")

    with pytest.raises(RowsError, match=rf"line 2: a row of format {rows.FORMAT + 1}; .* reads up to {rows.FORMAT}"):
        rows.read(tmp_path)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_row_has_the_first_format_that_has_its_kind(row: Row) -> None:
    """An older version reads the rows that it knows, and refuses those that it does not know by their format."""
    assert records.make(**changed(row, format=None)).format == (6 if row.kind == "counts" else 5)


@pytest.mark.parametrize("number", [0, -1, True, "1", None, 1.0])
def test_what_never_was_a_format_is_no_row(number: object) -> None:
    with pytest.raises(ValueError, match="not a row"):
        records.read(json.dumps(changed(CRAWL, format=number)))


@pytest.mark.parametrize("line", ["", "null", "[]", "{}", "not JSON", '"text"', '{"format": {}}'])
def test_a_line_that_is_no_row_is_named_by_its_number(tmp_path: Path, line: str) -> None:
    write(tmp_path, CRAWL.to_json(), "\n", line, "\n", CRAWL.to_json(), "\n")

    with pytest.raises(RowsError, match="line 2"):
        rows.read(tmp_path)


def test_a_folder_without_rows_is_not_a_run(tmp_path: Path) -> None:
    with pytest.raises(RowsError, match=r"is not a run: cannot read rows\.jsonl"):
        rows.read(tmp_path)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / rows.ROWS_FILE).write_bytes(b"\xff\xfe\x00\n")

    with pytest.raises(RowsError, match="not text"):
        rows.read(tmp_path)


def test_a_row_is_valid_when_it_is_ok_and_no_check_failed() -> None:
    failed = Check("no listen drops", "failed", "40 in /proc/net/netstat during the trial")
    invalid = records.changed(CRAWL, checks=(*CRAWL.checks, failed))

    assert (CRAWL.valid, invalid.valid, invalid.failed_checks) == (True, False, (failed,))
    assert not any(row.valid for row in ENDED)


def test_the_schema_is_a_schema_and_names_the_newest_format() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)

    assert SCHEMA["title"].endswith(f"format {rows.FORMAT}")


def test_the_schema_is_the_one_that_the_records_make() -> None:
    assert rows.SCHEMA_FILE.read_text("utf-8") == schema.text(), "run `python -m inflight.bench.rows.schema`"


def test_the_schema_has_the_keys_of_a_row_and_no_others() -> None:
    for one in SCHEMA["anyOf"]:
        kind = SCHEMA["$defs"][one["$ref"].rpartition("/")[2]]
        assert set(kind["properties"]) == {*kind["required"], "cause"} == {"kind", *Row.__struct_encode_fields__}


def test_every_key_in_the_schema_says_what_it_means() -> None:
    silent = [
        f"{name}.{key}"
        for name, block in SCHEMA["$defs"].items()
        for key, value in block["properties"].items()
        if key != "kind" and not value.get("description") and "$ref" not in value
    ]

    assert silent == []


TIMES = ("service", "response")
SERVICE = json.loads(CRAWL.to_json())["measured"]["service"]
TIMELINE = {"bin_ns": 1000, "completions": [1], "in_flight": []}
BACKLOG = {"at_ns": [2, 1], "waiting": [1, 1]}
HISTOGRAM = {"significant_bits": 6, "counts": [[9, 1], [8, 1]]}
COMPARISON = {"name": "ab", "metrics": ["memory"], "gated": []}
NO_REASON = "a status that is not ok needs a reason, and ok has none"
OTHER_TIMES = "times of the same fetches that differ in their number"
REFUSED: dict[str, list[tuple[str, Any, str]]] = {
    "crawl": [
        ("status", "failed", NO_REASON),
        ("reason", "though it is ok", NO_REASON),
        ("reason", "", NO_REASON),
        ("kind", "dance", "kind: invalid value 'dance'"),
        ("extra", 1, "Object contains unknown field `extra`"),
        ("checks", [], "the status is ok, but there are no checks"),
        ("measured", {"pages_per_s": -1}, "measured.pages_per_s: expected `float` >= 0.0"),
        ("measured", {"timeline": TIMELINE}, "measured.timeline: lists of different lengths in a time line"),
        (
            "measured",
            {"service": {"count": 3}},
            "durations without a mean, a quantile or a histogram",
        ),
        ("measured", {"service": SERVICE | {"p50_ns": 0}}, "measured.service: quantiles that do not rise"),
        ("measured", {"service": SERVICE | {"count": 1}}, " durations instead of 1"),
        ("measured", {"service": SERVICE | {"histogram": HISTOGRAM}}, "buckets that do not rise"),
        ("measured", dict.fromkeys(TIMES), "the status is ok, but measured has no service"),
        ("measured", {"service": None}, OTHER_TIMES),
        ("measured", {"response": None}, OTHER_TIMES),
        ("workload", {"cpu": "1ms"}, "workload: of cpu and cpu_ns one alone"),
    ],
    "open": [("measured", {"backlog": BACKLOG}, "measured.backlog: times that do not rise")],
    "memory": [("workload", {"comparison": COMPARISON}, "a comparison without the arm that the row is of")],
    "probe": [("measured", {}, "the status is ok, but measured has no figure")],
}
"""What is refused that the schema permits, and two values that it does not: a part, its values, the sentence."""


@pytest.mark.parametrize(
    ("kind", "part", "value", "words"), [(kind, *case) for kind, cases in REFUSED.items() for case in cases]
)
def test_a_row_that_contradicts_itself_is_refused(kind: str, part: str, value: Any, words: str) -> None:
    assert words in refusal(ROWS[kind], {part: value})


@pytest.mark.parametrize(
    ("row", "changes", "sentence"),
    [
        *(
            (row, {part: {name: None}}, f"the status is ok, but {part} has no {name}")
            for row in ROWS.values()
            for part, names in row.NEEDED.items()
            for name in names
            if not (name in TIMES and row.kind in {"crawl", "memory"})
        ),
        *(
            (row, {"measured": {name: 0}}, f"the status is ok, but measured.{name} is not above 0")
            for row in ROWS.values()
            for name in row.ABOVE_0
        ),
    ],
    ids=lambda one: one.kind if isinstance(one, Row) else str(one),
)
def test_a_row_that_is_ok_has_the_figures_of_its_kind(row: Row, changes: dict[str, Any], sentence: str) -> None:
    assert refusal(row, changes) == sentence


def test_a_check_or_a_knob_can_be_added_without_a_new_format() -> None:
    row = json.loads(CRAWL.to_json())
    row["knobs"]["loop"] = "uvloop"
    row["measured"]["page_faults"] = 3

    VALIDATOR.validate(row)


def test_a_figure_beyond_all_numbers_is_refused() -> None:
    text = re.sub('"pages_per_s":[0-9.]+', '"pages_per_s":1e999', CRAWL.to_json())

    with pytest.raises(ValueError, match=r"measured\.pages_per_s: number out of range"):
        records.read(text)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a\x1b[31m\nb\tc\x00", "a?[31m b c?"),
        ("\N{RIGHT-TO-LEFT OVERRIDE}\x7f\x85\N{LINE SEPARATOR}", "??  "),
        ("\ud83d half", "? half"),
        ('"é" \\n \N{SNOWMAN}', '"é" \\n \N{SNOWMAN}'),
    ],
    ids=["control characters", "invisible characters", "half a character", "printable"],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_all_texts_are_printable_once_they_are_read(text: str, read: str, ascii_only: bool) -> None:
    values = json.loads(SWARM.to_json()) | {"strategy": text, "trial": text, "knobs": {text: [text]}}
    values["checks"][0]["detail"] = text
    values["measured"] |= {"errors": {text: 1}, "held_disturbed": text}

    row: Any = records.read(json.dumps(values, ensure_ascii=ascii_only))

    assert {row.strategy, row.trial, row.checks[0].detail, row.measured.held_disturbed} == {read}
    assert (row.knobs, row.measured.errors) == ({read: [read]}, {read: 1})


def test_only_a_traceback_has_lines() -> None:
    figures: dict[str, Any] = {"text": "one\n  two\x1b", "lost": ["one\ntwo"]}
    row: Any = edited(ROWS["probe"], measured=figures)

    assert (row.measured["text"], row.measured["lost"]) == ("one\n  two?", ["one two"])


def test_the_error_of_a_hostile_line_is_printable() -> None:
    line = json.dumps(changed(CRAWL, stack="\x1b\n"))

    with pytest.raises(ValueError, match=r"^stack: invalid enum value '\? '$"):
        records.read(line)


def test_a_number_too_small_to_divide_by_is_read_as_0() -> None:
    row: Any = edited(ROWS["open"], measured={"completed_per_s": 5e-324})

    assert row.measured.completed_per_s == 0
