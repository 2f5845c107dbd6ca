"""The row format: what is written is what is read, and what is no row is refused with one sentence."""

import json
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from inflight.bench.rows import files as rows
from inflight.bench.rows import records, schema
from inflight.bench.rows.files import Kind, Row, RowsError
from inflight.bench.show.progress import trial_line
from tests.made_blocks import block, lost
from tests.made_rows import (
    FAILED,
    arm_row,
    counts_row,
    crawl_row,
    edited,
    idle_row,
    limit_row,
    memory_row,
    open_row,
    probe_row,
    swarm_row,
)
from tools import series

SCHEMA = json.loads(rows.SCHEMA_FILE.read_text("utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
LOST = {
    "bound_by": {"name": "kernel.pid_max", "allows": 29_000, "sentence": "it leaves 29,000 threads"},
    "lost": [{"what": "strategy process", "share": 1, "pid": 4321, "how": "was killed", "in_flight": 9, "at_ns": 4}],
    "errors": {"took 5_ns": 2, "in_flight": 1},
}
ROWS: dict[str, Row] = {
    "crawl": crawl_row(times_ns=[1, 2, 3_000_000]),
    "memory": memory_row(),
    "arm": block()[1],
    "idle": idle_row(),
    "probe": probe_row(),
    "limit": limit_row(),
    "swarm": swarm_row(measured=LOST),
    "open": open_row(),
    "counts": counts_row(),
    "target": open_row(2.5, target="http://127.0.0.1:8000/"),
}
ALL_KINDS = [
    *ROWS.values(),
    crawl_row(invalid=True),
    arm_row(times_ns=[1, 2, 3_000_000], role="reference"),
    arm_row("callbacks again", role="placebo", invalid=True),
    arm_row("generators", in_flight=1000, latency="10ms", connection="per-fetch", others=0.02),
    *(arm_row(status=status) for status in ("wrong", "failed", "timeout", "skipped")),
    *(crawl_row(status=status, reason="why") for status in ("wrong", "failed", "timeout", "skipped")),
    *(make(status="failed", reason="no port left") for make in (swarm_row, open_row)),
    edited(probe_row(), strategy="other", workload={"probe": "other"}),
    idle_row(n=9, status="skipped", reason="RLIMIT_NPROC is 8"),
    *block(memory=0.1),
    *block(invalid=True, memory_invalid="3 connections"),
    *block(failed="B", status="wrong", reason="1 pages missing"),
    *lost(1),
    counts_row(measured={"lacks": {"calls": "why", "system calls": "why"}}),
    counts_row(invalid=True, measured={"bytecodes_per_page": 698.0, "repeats_equal": False}),
    *(counts_row(status=status, reason="for a reason") for status in ("wrong", "failed", "timeout", "skipped")),
]
TIMES = ("service", "response")
COUNTS = {
    "swarm": (
        *("planned_in_flight", "held_in_flight", "client_processes", "server_processes", "nodes"),
        *("pages", "failed_pages"),
    ),
    "open": ("arrivals", "started", "completed", "failed", "peak_in_flight"),
}


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


def test_there_is_a_row_of_every_kind() -> None:
    assert {row.kind for row in ALL_KINDS} == set(get_args(Kind))


@pytest.mark.parametrize("row", ALL_KINDS, ids=lambda row: f"{row.kind}-{row.status}")
def test_every_kind_has_a_line_of_progress(row: Row) -> None:
    assert row.arm in trial_line(1, 1, row)


@pytest.mark.parametrize("row", ALL_KINDS, ids=lambda row: f"{row.kind}-{row.status}")
def test_a_row_survives_json(row: Row) -> None:
    line = row.to_json()

    assert "\n" not in line
    assert records.read(line) == row


@pytest.mark.parametrize("row", ALL_KINDS, ids=lambda row: f"{row.kind}-{row.status}")
def test_every_kind_of_row_is_valid_by_the_schema(row: Row) -> None:
    VALIDATOR.validate(json.loads(row.to_json()))


def test_rows_are_read_in_the_order_in_which_they_were_appended(tmp_path: Path) -> None:
    for row in ALL_KINDS:
        rows.append(tmp_path, row)

    assert rows.read(tmp_path) == ALL_KINDS


def test_a_half_written_last_line_is_left_out(tmp_path: Path) -> None:
    whole = crawl_row()
    write(tmp_path, whole.to_json(), "\n", memory_row().to_json()[:100])

    assert rows.read(tmp_path) == [whole]


def test_a_last_line_that_only_lacks_its_end_is_left_out_too_since_nobody_can_tell(tmp_path: Path) -> None:
    write(tmp_path, crawl_row().to_json())

    assert rows.read(tmp_path) == []


@pytest.mark.parametrize("keep", [slice(0, 0), slice(0, -20), slice(20, None)], ids=["empty", "cut off", "no head"])
def test_damaged_packed_rows_are_refused(keep: slice, tmp_path: Path) -> None:
    write(tmp_path, crawl_row().to_json(), "\n")
    series.pack(tmp_path)
    packed = tmp_path / rows.PACKED_FILE
    packed.write_bytes(packed.read_bytes()[keep])

    with pytest.raises(RowsError, match=r"rows\.jsonl\.xz is damaged or not whole"):
        rows.read(tmp_path)


def test_after_an_interruption_the_next_row_begins_on_a_line_of_its_own(tmp_path: Path) -> None:
    first, second = crawl_row(number=1), crawl_row(number=2)
    write(tmp_path, first.to_json(), "\n", second.to_json()[:50])

    rows.drop_unfinished(tmp_path)
    rows.append(tmp_path, second)

    assert rows.read(tmp_path) == [first, second]


def test_there_is_nothing_to_drop_where_there_are_no_rows(tmp_path: Path) -> None:
    rows.drop_unfinished(tmp_path)

    assert not (tmp_path / rows.ROWS_FILE).exists()


def test_a_newer_format_is_refused_with_both_numbers(tmp_path: Path) -> None:
    newer = json.dumps(changed(crawl_row(), format=rows.FORMAT + 1))
    write(tmp_path, crawl_row().to_json(), "\n", newer, "\n")

    with pytest.raises(RowsError, match=rf"line 2: a row of format {rows.FORMAT + 1}; .* reads up to {rows.FORMAT}"):
        rows.read(tmp_path)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_row_has_the_first_format_that_has_its_kind(row: Row) -> None:
    """An older version reads the rows that it knows, and refuses those that it does not know by their format."""
    assert json.loads(row.to_json())["format"] == (6 if row.kind == "counts" else 5)


@pytest.mark.parametrize("number", [0, -1, True, "1", None, 1.0])
def test_what_never_was_a_format_is_no_row(number: object) -> None:
    with pytest.raises(ValueError, match="not a row"):
        records.read(json.dumps(changed(crawl_row(), format=number)))


def test_a_row_of_an_unknown_kind_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match="kind: invalid value 'dance'"):
        records.read(json.dumps(changed(crawl_row(), kind="dance")))


@pytest.mark.parametrize("line", ["", "null", "[]", "{}", "not JSON", '"text"', '{"format": {}}'])
def test_a_line_that_is_no_row_is_named_by_its_number(tmp_path: Path, line: str) -> None:
    write(tmp_path, crawl_row().to_json(), "\n", line, "\n", crawl_row().to_json(), "\n")

    with pytest.raises(RowsError, match="line 2"):
        rows.read(tmp_path)


def test_a_row_that_lacks_keys_is_refused_with_their_names() -> None:
    with pytest.raises(ValueError, match="missing required field `status`"):
        records.read(json.dumps(changed(crawl_row(), status=None, checks=None)))


def test_a_folder_without_rows_is_not_a_run(tmp_path: Path) -> None:
    with pytest.raises(RowsError, match=r"is not a run: cannot read rows\.jsonl"):
        rows.read(tmp_path)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / rows.ROWS_FILE).write_bytes(b"\xff\xfe\x00\n")

    with pytest.raises(RowsError, match="not text"):
        rows.read(tmp_path)


def test_a_row_is_valid_when_it_is_ok_and_no_check_failed() -> None:
    assert crawl_row().valid
    assert not crawl_row(invalid=True).valid
    assert crawl_row(invalid=True).failed_checks == (FAILED,)
    assert not crawl_row(status="timeout").valid


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


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "fine"},
        {"status": "failed"},
        *({"reason": reason} for reason in ("though it is ok", "", 3)),
        {"kind": "thread"},
        {"stack": None},
        {"round": 0},
        {"round": 1.5},
        {"duration_ns": -1},
        {"started_at": "yesterday"},
        {"extra": 1},
        {"format": 0},
        {"format": rows.FORMAT + 1},
        {"measured": {}},
        {"server": {}},
        {"knobs": {}},
        {"workload": {}},
        *(
            {"checks": checks}
            for checks in (
                *([], 3, [3], [{"name": "only"}], [{"name": "a", "verdict": "Passed", "detail": ""}]),
                [{"name": "a", "verdict": "passed", "detail": "c", "more": 1}],
            )
        ),
    ],
    ids=str,
)
def test_a_row_is_refused_that_has(wrong: dict[str, Any]) -> None:
    (key,) = wrong

    words = {"format": "row", "extra": "unknown field `extra`"}
    assert words.get(key, key) in refusal(crawl_row(), wrong) or key == "status"


WRONG_VALUES: dict[tuple[str, str], dict[str, tuple[Any, ...]]] = {
    ("crawl", "measured"): {
        "pages_per_s": (-1, "1"),
        "cpu_user_ns": (1.5,),
        "cpu_per_page_ns": ("50",),
        "steal_share": (1.1,),
        "service": ({"count": 3}, {"count": 0, "mode_ns": 1}, {"p50_ns": "fast"}),
        "timeline": (
            {"bin_ns": 0, "completions": [], "in_flight": []},
            {"bin_ns": 1000, "completions": [1], "in_flight": []},
        ),
        "samples": ({"at_ns": [1], "threads": [None]},),
    },
    ("crawl", "server"): {
        "requests": (-1, "1"),
    },
    ("crawl", "workload"): {
        "in_flight": (0, True),
        "mean_latency_ns": ("50", None),
        "connection": ("pipelined",),
    },
    ("crawl", "knobs"): {
        "gil": ("yes",),
    },
    ("arm", "workload"): {
        "arm": ({}, None),
        "comparison": ({"name": "ab", "metrics": ["cpu"], "gated": []}, {"name": "ab", "metrics": []}),
    },
    ("arm", "measured"): {
        "windows": ([{"cycle": 0}],),
        "server_lost": (False,),
    },
    ("counts", "workload"): {
        "repeats": (None, 0),
        "bytecodes": (False,),
    },
    ("counts", "measured"): {
        "pages": (0, "300"),
        "totals": ({"calls": [1]}, {"c_calls": [-1]}, {"c_calls": 1}),
        "python_calls": ({"": 1}, {"f.py:f": "1"}, {"f.py:f": -1}),
        "repeats_equal": ("yes",),
        "lacks": (["calls"], {"calls": ""}),
    },
    ("idle", "workload"): {
        "n": (None, 0),
    },
    ("probe", "workload"): {
        "arguments": (None,),
    },
    ("limit", "workload"): {
        "resource": ("patience",),
    },
    ("swarm", "workload"): {
        "in_flight": (None, 0),
        "ramp_per_s": ("fast",),
        "site": (None, "x", []),
    },
    ("swarm", "measured"): {
        "reach_ns": ("soon", [1]),
        "lost": ([{"what": "server"}],),
        "timeline": (
            {"at_ns": [1]},
            {"at_ns": [1], "held": [None], "used_bytes": [1]},
            {"at_ns": [1], "held": [1, 2], "used_bytes": [1]},
        ),
        "bound_by": ("kernel.pid_max",),
        "held_uss_bytes": ("many",),
        "held_slab_bytes": ({"a": 1},),
        "reporting_share": (1.5,),
    },
    ("open", "workload"): {
        "site": ("x",),
        "rate_per_s": (None, 0, -2.5),
        "mean_latency_ns": (-1,),
        "users": (0, -1, 1.5, None, "4"),
    },
    ("open", "measured"): {
        "kept": ("yes",),
        "corrected": ({"count": 3},),
        "completed_per_s": (-1,),
        "backlog": (
            [],
            {"at_ns": [1]},
            {"at_ns": [1], "waiting": []},
            {"at_ns": None, "waiting": [1]},
            {"at_ns": [1], "waiting": None},
        ),
    },
    ("target", "workload"): {
        "target": (["x"],),
    },
    ("memory", "workload"): {
        "site": (None,),
        "latency": (None,),
        "mean_latency_ns": (None, -1),
    },
    ("memory", "measured"): {
        "timeline": ({},),
    },
}
"""Values that are refused, by kind of row and part, and by name."""


@pytest.mark.parametrize(
    ("row", "part", "key", "values"),
    [
        *((row, part, key, wrong) for (row, part), keys in WRONG_VALUES.items() for key, wrong in keys.items()),
        *(
            (row, "measured", name, (-1, 1.5, True, "1", [1], {"a": 1}))
            for row, names in COUNTS.items()
            for name in names
        ),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(row: str, part: str, key: str, values: tuple[Any, ...]) -> None:
    for value in values:
        assert refusal(ROWS[row], {part: {key: value}}).startswith(f"{part}.{key}")


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


def test_all_times_of_the_fetches_of_a_crawl_are_there_or_none() -> None:
    assert refusal(crawl_row(), {"measured": dict.fromkeys(TIMES)}).endswith("measured has no service")
    for name in TIMES:
        assert "times of the same fetches" in refusal(crawl_row(), {"measured": {name: None}})


def test_a_row_of_a_comparison_must_say_of_which_arm_it_is() -> None:
    comparison = {"name": "ab", "metrics": ["memory"], "gated": []}

    assert "a comparison without the arm" in refusal(memory_row(), {"workload": {"comparison": comparison}})


def test_a_check_or_a_knob_can_be_added_without_a_new_format() -> None:
    row = json.loads(crawl_row().to_json())
    row["knobs"]["loop"] = "uvloop"
    row["measured"]["page_faults"] = 3

    VALIDATOR.validate(row)


def test_a_figure_beyond_all_numbers_is_refused() -> None:
    text = crawl_row().to_json().replace('"pages_per_s":10000.0', '"pages_per_s":1e999')

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
    values = json.loads(ROWS["swarm"].to_json()) | {"strategy": text, "trial": text, "knobs": {text: [text]}}
    values["checks"][0]["detail"] = text
    values["measured"] |= {"errors": {text: 1}, "held_disturbed": text}

    row: Any = records.read(json.dumps(values, ensure_ascii=ascii_only))

    assert {row.strategy, row.trial, row.checks[0].detail, row.measured.held_disturbed} == {read}
    assert (row.knobs, row.measured.errors) == ({read: [read]}, {read: 1})


def test_only_a_traceback_has_lines() -> None:
    figures: dict[str, Any] = {"text": "one\n  two\x1b", "lost": ["one\ntwo"]}
    row: Any = probe_row("stack_ripping", **figures)

    assert (row.measured["text"], row.measured["lost"]) == ("one\n  two?", ["one two"])


def test_the_error_of_a_hostile_line_is_printable() -> None:
    line = json.dumps(changed(crawl_row(), stack="\x1b\n"))

    with pytest.raises(ValueError, match=r"^stack: invalid enum value '\? '$"):
        records.read(line)


def test_a_number_too_small_to_divide_by_is_read_as_0() -> None:
    row: Any = edited(ROWS["open"], measured={"completed_per_s": 5e-324})

    assert row.measured.completed_per_s == 0
