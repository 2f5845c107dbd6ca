"""The row format: what is written is what is read, and what is no row is refused with one sentence."""

import json
import re
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from inflight.bench.rows import files as rows
from inflight.bench.rows import records, schema
from inflight.bench.rows.files import Kind, Row, RowsError
from inflight.bench.rows.values import plain_values
from inflight.bench.show.progress import trial_line
from tests.made_blocks import block, lost
from tests.made_rows import FAILED, arm_row, bare_row, crawl_row, memory_row, times

SCHEMA = json.loads(rows.SCHEMA_FILE.read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
LIMIT_ASKED = {"resource": "threads", "through_shared": False}
SIZES = {"held_uss_bytes": 20_000_000, "held_rss_bytes": 25_000_000}
IDLE = {"started": 1000, "start_ns": 5, "cpu_ns": 4, **SIZES, "held_disturbed": None}
LIMIT: dict[str, Any] = {
    "found": 21_000,
    "bound_by": "vm.max_map_count",
    "stopped_by": "failure",
    "evidence": ["65,530 maps"],
}
SITE = plain_values(crawl_row().workload.site)
ERRORS = {"timed out": 1}
SWARM: dict[str, Any] = {
    "planned_in_flight": 29_000,
    "bound_by": {"name": "kernel.pid_max", "allows": 29_000, "sentence": "kernel.pid_max is 32,768 ids"},
    **dict.fromkeys(("client_processes", "server_processes", "nodes", "hosts"), 1),
    "held_in_flight": 29_000,
    "makespan_ns": 9,
    "timeline": {"at_ns": [1, 2], "held": [0, 29_000], "used_bytes": [5, None]},
    "pages": 29_000,
    "failed_pages": 1,
    "errors": ERRORS,
    "held_disturbed": None,
    "held_slab_bytes": 10,
    "locust": {"version": "2.47.0", "requests": 29_000, "failures": 1},
    "lost": [{"what": "server", "share": 1, "pid": 7, "how": "exited with 1", "in_flight": 3, "at_ns": 8}],
    "late": [{"what": "Locust worker", "name": "one", "at_ns": 8}],
}
OPEN: dict[str, Any] = {
    **dict.fromkeys(("arrivals", "started", "completed", "peak_in_flight"), 10),
    "failed": 0,
    "offered_per_s": 10,
    "completed_per_s": 9.5,
    "corrected": times([1, 2, 3]),
    "uncorrected": times([]),
    "backlog": {"at_ns": [0, 1], "waiting": [0, 4]},
    "kept": False,
    "why": "all 4 users were waiting for responses",
    "errors": {},
}
CLIENT: dict[str, Any] = {
    "completed": 10,
    "failed": 0,
    "completed_per_s": 3.5,
    "service": {"count": 10, "mean_ns": 5, "p50_ns": 5, "p99_ns": None},
    "server_requests": 10,
}
SWARM_COUNTS = (
    *("planned_in_flight", "held_in_flight", "client_processes", "server_processes", "nodes", "hosts"),
    *("pages", "failed_pages"),
)
OPEN_COUNTS = ("arrivals", "started", "completed", "failed", "peak_in_flight")
CLIENT_COUNTS = ("completed", "failed", "server_requests")
SWARM_ASKED: dict[str, Any] = {
    "in_flight": 100_000,
    "ramp_per_s": None,
    "connection": "keep-alive",
    "site": SITE,
    "processes": None,
}
TARGET = "http://127.0.0.1:8000/"
TARGET_ASKED: dict[str, Any] = {"rate_per_s": 2.5, "seconds": 10, "users": 4, "target": TARGET} | dict.fromkeys(
    ("latency", "mean_latency_ns", "site")
)
OPEN_ASKED: dict[str, Any] = TARGET_ASKED | {
    "target": None,
    "latency": "10ms",
    "mean_latency_ns": 10_000_000,
    "site": SITE,
}
CLIENT_ASKED: dict[str, Any] = {"latency": "0", "mean_latency_ns": 0, "in_flight": 50, "seconds": 3, "site": SITE}


def scale_row(kind: Any, strategy: str, asked: dict[str, Any], measured: dict[str, Any], **values: Any) -> Row:
    """Make the row of a trial beyond one process, or of another client."""
    made = {"kind": kind, "strategy": strategy, "stack": "own", "workload": {"id": kind} | asked, "measured": measured}
    return records.changed(crawl_row(), **{"server": {}, "knobs": {}} | made | values)


SCALE_ROWS = [
    scale_row("swarm", "thread_pool", SWARM_ASKED, SWARM),
    scale_row("open", "locust", OPEN_ASKED, OPEN),
    scale_row("open", "locust", TARGET_ASKED, OPEN),
    scale_row("client", "wrk", CLIENT_ASKED, CLIENT),
]
ALL_KINDS = [
    *SCALE_ROWS,
    scale_row("swarm", "thread_pool", SWARM_ASKED, {}, status="failed", reason="no port left", checks=()),
    crawl_row(times_ns=[1, 2, 3_000_000]),
    crawl_row(invalid=True),
    arm_row(times_ns=[1, 2, 3_000_000], role="reference"),
    arm_row("callbacks again", role="placebo", invalid=True),
    arm_row("generators", in_flight=1000, latency="10ms", connection="per-fetch", others=0.02),
    *(arm_row(status=status) for status in ("wrong", "failed", "timeout", "skipped")),
    memory_row(),
    bare_row("idle", "thread", {"what": "thread", "n": 1000}, IDLE),
    bare_row("probe", "other", {"probe": "other", "arguments": {"how": "spin"}}, {"wall_ns": 1, "of": "anything"}),
    bare_row("limit", "threads", LIMIT_ASKED, LIMIT),
    bare_row("idle", "thread", {"what": "thread", "n": 9}, {}, status="skipped", reason="RLIMIT_NPROC is 8"),
    *block(memory=0.1),
    *block(invalid=True, memory_invalid="3 connections"),
    *block(failed="B", status="wrong", reason="1 pages missing"),
    *lost(1),
    crawl_row(status="wrong", reason="page 3 is missing"),
    crawl_row(status="failed", reason="the worker was killed"),
    crawl_row(status="timeout", reason="not done after 60 s"),
    crawl_row(status="skipped", reason="not installed: aiohttp"),
]


def is_refused(values: dict[str, Any]) -> bool:
    try:
        Row.from_json(json.dumps(values))
    except ValueError:
        return True
    return False


def changed(row: Row, **values: Any) -> dict[str, Any]:
    """Return the row as JSON values, with some changed; None takes a key away."""
    before = json.loads(row.to_json())
    return {key: value for key, value in (before | values).items() if key not in values or value is not None}


def write(folder: Path, *lines: str) -> Path:
    (folder / rows.ROWS_FILE).write_text("".join(lines), encoding="utf-8")
    return folder


def test_there_is_a_row_of_every_kind() -> None:
    assert {row.kind for row in ALL_KINDS} == set(get_args(Kind))


@pytest.mark.parametrize("row", ALL_KINDS, ids=lambda row: f"{row.kind}-{row.status}")
def test_every_kind_has_a_line_of_progress(row: Row) -> None:
    assert row.strategy in trial_line(1, 1, row, colour=False)


@pytest.mark.parametrize("row", ALL_KINDS, ids=lambda row: f"{row.kind}-{row.status}")
def test_a_row_survives_json(row: Row) -> None:
    line = row.to_json()

    assert "\n" not in line
    assert Row.from_json(line) == row


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
    rows.pack(tmp_path)
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


@pytest.mark.parametrize("number", [0, -1, True, "1", None, 1.0])
def test_what_never_was_a_format_is_no_row(number: object) -> None:
    with pytest.raises(ValueError, match="not a row"):
        Row.from_json(json.dumps(changed(crawl_row(), format=number)))


def test_a_row_of_an_unknown_kind_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match="kind: invalid value 'dance'"):
        Row.from_json(json.dumps(changed(crawl_row(), kind="dance")))


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("idle", {"what": "thread"}),
        ("idle", {"what": "thread", "n": 0}),
        ("probe", {"probe": "spin"}),
        ("limit", {"resource": "patience", "through_shared": False}),
    ],
)
def test_each_kind_has_a_workload_of_its_own(kind: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="workload"):
        bare_row(kind, "thread", wrong, IDLE | LIMIT)


@pytest.mark.parametrize("line", ["", "null", "[]", "{}", "not JSON", '"text"', '{"format": {}}'])
def test_a_line_that_is_no_row_is_named_by_its_number(tmp_path: Path, line: str) -> None:
    write(tmp_path, crawl_row().to_json(), "\n", line, "\n", crawl_row().to_json(), "\n")

    with pytest.raises(RowsError, match="line 2"):
        rows.read(tmp_path)


def test_a_row_that_lacks_keys_is_refused_with_their_names() -> None:
    with pytest.raises(ValueError, match="missing required field `status`"):
        Row.from_json(json.dumps(changed(crawl_row(), status=None, checks=None)))


@pytest.mark.parametrize(
    "checks", [[{"name": "only"}], [3], 3, [{"name": "a", "verdict": "b", "detail": "c", "more": 1}]]
)
def test_checks_that_are_none_are_refused(tmp_path: Path, checks: object) -> None:
    write(tmp_path, json.dumps(changed(crawl_row(), checks=checks)), "\n")

    with pytest.raises(RowsError, match="line 1"):
        rows.read(tmp_path)


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
    assert rows.SCHEMA_FILE.read_text(encoding="utf-8") == schema.text(), "run `python -m inflight.bench.rows.schema`"


def test_the_schema_has_the_keys_of_a_row_and_no_others() -> None:
    for one in SCHEMA["anyOf"]:
        kind = SCHEMA["$defs"][one["$ref"].rpartition("/")[2]]
        assert set(kind["properties"]) == {*kind["required"], "cause"} == {"kind", *Row.__struct_fields__}


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
        {"reason": "though it is ok"},
        {"kind": "thread"},
        {"stack": None},
        {"round": 0},
        {"round": 1.5},
        {"duration_ns": -1},
        {"started_at": "yesterday"},
        {"extra": 1},
        {"checks": []},
        {"checks": [{"name": "a", "verdict": "maybe", "detail": ""}]},
        {"measured": {}},
        {"server": {}},
        {"knobs": {}},
        {"format": 0},
        {"format": rows.FORMAT + 1},
        {"workload": {}},
    ],
    ids=str,
)
def test_a_row_is_refused_that_has(wrong: dict[str, Any]) -> None:
    assert is_refused(changed(crawl_row(), **wrong))


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("measured", "pages_per_s", -1),
        ("measured", "cpu_user_ns", 1.5),
        ("measured", "steal_share", 1.1),
        ("measured", "service", {"count": 3}),
        ("measured", "service", {"count": 0, "mode_ns": 1}),
        ("server", "cpu_ns", None),
        ("server", "responses_by_status", {"fine": 1}),
        ("workload", "in_flight", 0),
        ("workload", "connection", "pipelined"),
        ("workload", "colour", "red"),
        ("knobs", "gil", "yes"),
    ],
)
def test_a_row_is_refused_for_one_wrong_value(part: str, key: str, value: object) -> None:
    row = json.loads(crawl_row(times_ns=[5]).to_json())
    row[part][key] = value

    assert is_refused(row)


def test_a_check_or_a_knob_can_be_added_without_a_new_format() -> None:
    row = json.loads(crawl_row().to_json())
    row["knobs"]["loop"] = "uvloop"
    row["measured"]["page_faults"] = 3

    VALIDATOR.validate(row)


def test_a_memory_row_must_say_what_was_held() -> None:
    row = json.loads(memory_row().to_json())
    del row["measured"]["held_uss_bytes"]

    assert is_refused(row)


def test_a_row_of_a_comparison_must_say_of_which_arm_it_is() -> None:
    row = json.loads(memory_row().to_json())
    row["workload"]["comparison"] = {"name": "ab", "metrics": ["memory"], "gated": []}

    with pytest.raises(ValueError, match="a comparison without the arm"):
        Row.from_json(json.dumps(row))


@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        ("workload", {"arm": {}}),
        ("workload", {"arm": None}),
        ("workload", {"comparison": {"name": "ab", "metrics": ["cpu"], "gated": []}}),
        ("workload", {"comparison": {"name": "ab", "metrics": []}}),
        ("measured", {"windows": None}),
        ("measured", {"windows": [{"cycle": 0}]}),
        ("measured", {"cpu_per_page_ns": 0}),
        ("measured", {"server_lost": False}),
        ("knobs", {"strategy": None}),
    ],
    ids=str,
)
def test_an_arm_is_refused_for_one_wrong_value(part: str, wrong: dict[str, Any]) -> None:
    row = json.loads(block()[1].to_json())
    row[part] = {key: value for key, value in (row[part] | wrong).items() if value is not None}

    assert is_refused(row)


@pytest.mark.parametrize(
    ("row", "part", "key"),
    [
        (row, part, key)
        for row in (SCALE_ROWS[0], SCALE_ROWS[1], SCALE_ROWS[3])
        for part in ("workload", "measured")
        for key in plain_values(getattr(row, part))
        if (not key.startswith("held_") or key == "held_in_flight") and key not in {"bound_by", "why"}
    ],
    ids=lambda one: one.kind if isinstance(one, Row) else str(one),
)
def test_a_row_of_a_scale_is_refused_without_any_of_its_figures(row: Row, part: str, key: str) -> None:
    values = json.loads(row.to_json())
    del values[part][key]

    assert is_refused(values)


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (0, {"lost": [{"what": "server"}]}),
        (0, {"timeline": {"at_ns": [1]}}),
        (0, {"bound_by": "kernel.pid_max"}),
        (0, {"held_uss_bytes": "many"}),
        (0, {"reporting_share": 1.5}),
        (1, {"kept": "yes"}),
        (1, {"corrected": {"count": 3}}),
        (1, {"backlog": []}),
        (3, {"service": {}}),
        (3, {"completed": -1}),
    ],
    ids=str,
)
def test_a_row_of_a_scale_is_refused_for_one_wrong_value(place: int, wrong: dict[str, Any]) -> None:
    row = json.loads(SCALE_ROWS[place].to_json())
    row["measured"] |= wrong

    assert is_refused(row)


@pytest.mark.parametrize(
    ("place", "change", "words"),
    [
        (0, {"measured": {"makespan_ns": 0}}, "the status is ok, but measured.makespan_ns is not above 0"),
        (0, {"measured": {"reach_ns": "soon"}}, "measured.reach_ns: "),
        (0, {"measured": {"timeline": {"at_ns": [1], "held": [None], "used_bytes": [1]}}}, "measured.timeline"),
        (0, {"measured": {"timeline": {"at_ns": [1], "held": [1, 2], "used_bytes": [1]}}}, "measured.timeline"),
        (0, {"workload": {"in_flight": None}}, "workload.in_flight: "),
        (0, {"workload": {"ramp_per_s": "fast"}}, "workload.ramp_per_s: "),
        (1, {"measured": {"backlog": {"at_ns": [1], "waiting": []}}}, "measured.backlog"),
        (1, {"measured": {"offered_per_s": None}}, "measured has no offered_per_s"),
        (1, {"workload": {"rate_per_s": None}}, "workload.rate_per_s: "),
        (3, {"workload": {"mean_latency_ns": None}}, "workload.mean_latency_ns: "),
        *(
            (place, {"measured": {name: value}}, f"measured.{name}: expected `int`")
            for place, names in ((0, SWARM_COUNTS), (1, OPEN_COUNTS), (3, CLIENT_COUNTS))
            for name in names
            for value in (-1, 1.5, True, "1", [1], {"a": 1})
        ),
        (0, {"workload": {"site": None}}, "workload.site: "),
        (0, {"workload": {"site": "x"}}, "workload.site: "),
        (0, {"workload": {"site": []}}, "workload.site: "),
        (1, {"workload": {"site": "x"}}, "workload.site: "),
        (3, {"workload": {"site": None}}, "workload.site: "),
        (0, {"workload": {"in_flight": 0}}, "workload.in_flight: "),
        (0, {"measured": {"reach_ns": [1]}}, "measured.reach_ns: "),
        (0, {"measured": {"held_slab_bytes": {"a": 1}}}, "measured.held_slab_bytes: "),
        (1, {"measured": {"backlog": {"at_ns": None, "waiting": [1]}}}, "measured.backlog"),
        (1, {"measured": {"backlog": {"at_ns": [1], "waiting": None}}}, "measured.backlog"),
        (1, {"measured": {"backlog": {"at_ns": [1], "waiting": [1, 2]}}}, "measured.backlog"),
        (1, {"measured": {"backlog": {"at_ns": [1]}}}, "measured.backlog"),
        (1, {"measured": {"completed_per_s": -1}}, "measured.completed_per_s: "),
        (1, {"workload": {"mean_latency_ns": -1}}, "workload.mean_latency_ns: "),
        *((1, {"workload": {"users": users}}, "workload.users: expected `int`") for users in (0, -1, 1.5, None, "4")),
        (1, {"workload": {"rate_per_s": 0}}, "workload.rate_per_s: "),
        (2, {"workload": {"rate_per_s": -2.5}}, "workload.rate_per_s: "),
        (2, {"workload": {"target": ["x"]}}, "workload.target: "),
        (3, {"workload": {"latency": None}}, "workload.latency: "),
        (3, {"workload": {"mean_latency_ns": -1}}, "workload.mean_latency_ns: "),
        (3, {"workload": {"in_flight": 0}}, "workload.in_flight: "),
        (3, {"measured": {"completed_per_s": -0.5}}, "measured.completed_per_s: "),
        (3, {"measured": {"completed_per_s": None}}, "measured has no completed_per_s"),
        (3, {"measured": {"service": None}}, "measured has no service"),
    ],
    ids=str,
)
def test_a_row_of_a_scale_with_a_figure_that_is_none_is_refused_by_name(
    place: int, change: dict[str, dict[str, Any]], words: str
) -> None:
    values = json.loads(SCALE_ROWS[place].to_json())
    for part, changes in change.items():
        values[part] |= changes

    with pytest.raises(ValueError, match=re.escape(words)):
        Row.from_json(json.dumps(values))


@pytest.mark.parametrize("row", SCALE_ROWS, ids=lambda row: row.kind)
def test_a_row_of_a_scale_that_did_not_get_far_needs_no_figures(row: Row) -> None:
    early = records.changed(row, status="failed", reason="no port left", measured={}, checks=())

    assert Row.from_json(early.to_json()) == early


def test_a_client_that_completed_nothing_is_a_row() -> None:
    idle = scale_row("client", "wrk", CLIENT_ASKED, CLIENT | {"completed": 0, "completed_per_s": 0})

    assert Row.from_json(idle.to_json()) == idle


def test_an_error_may_be_called_anything() -> None:
    row = scale_row("swarm", "callbacks", SWARM_ASKED, SWARM | {"errors": {"took 5_ns": 2, "in_flight": 1}})

    assert Row.from_json(row.to_json()) == row


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"measured": {"makespan_ns": None}}, "the status is ok, but measured has no makespan_ns"),
        ({"measured": {"makespan_ns": 0}}, "the status is ok, but measured.makespan_ns is not above 0"),
        ({"measured": {"pages_per_s": -5.0}}, "measured.pages_per_s: expected `float` >= 0.0"),
        ({"measured": {"cpu_per_page_ns": "50"}}, "measured.cpu_per_page_ns: "),
        ({"measured": {"service": {"p50_ns": "fast"}}}, "measured.service."),
        ({"measured": {"timeline": {"bin_ns": 0, "completions": [], "in_flight": []}}}, "measured.timeline"),
        ({"measured": {"timeline": {"bin_ns": 1, "completions": [1], "in_flight": []}}}, "measured.timeline"),
        ({"measured": {"samples": {"at_ns": [1], "threads": [None]}}}, "measured.samples"),
        ({"workload": {"mean_latency_ns": "50"}}, "workload.mean_latency_ns: "),
        ({"workload": {"mean_latency_ns": None}}, "workload.mean_latency_ns: "),
        ({"workload": {"in_flight": True}}, "workload.in_flight: "),
    ],
)
def test_a_row_with_a_figure_that_is_none_is_refused_by_name(change: dict[str, dict[str, Any]], words: str) -> None:
    row = crawl_row()
    values = json.loads(row.to_json())
    for part, changes in change.items():
        values[part] |= changes

    with pytest.raises(ValueError, match=re.escape(words)):
        Row.from_json(json.dumps(values))


def test_a_figure_beyond_all_numbers_is_refused() -> None:
    text = crawl_row().to_json().replace('"pages_per_s":10000.0', '"pages_per_s":1e999')

    with pytest.raises(ValueError, match=r"measured\.pages_per_s: number out of range"):
        Row.from_json(text)


def test_a_check_with_a_verdict_that_is_none_is_refused() -> None:
    text = crawl_row().to_json().replace('"verdict":"passed"', '"verdict":"Passed"')

    with pytest.raises(ValueError, match="verdict: invalid enum value 'Passed'"):
        Row.from_json(text)


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
    values = json.loads(SCALE_ROWS[0].to_json()) | {"strategy": text, "trial": text, "knobs": {text: [text]}}
    values["checks"][0]["detail"] = text
    values["measured"] |= {"errors": {text: 1}, "held_disturbed": text}

    row: Any = Row.from_json(json.dumps(values, ensure_ascii=ascii_only))

    assert {row.strategy, row.trial, row.checks[0].detail, row.measured.held_disturbed} == {read}
    assert (row.knobs, row.measured.errors) == ({read: [read]}, {read: 1})


def test_only_a_traceback_has_lines() -> None:
    figures = {"text": "one\n  two\x1b", "lost": ["one\ntwo"]}
    row = bare_row("probe", "stack_ripping", {"probe": "stack_ripping", "arguments": {}}, figures)

    assert (row.measured.text, row.measured.lost) == ("one\n  two?", ["one two"])


def test_the_error_of_a_hostile_line_is_printable() -> None:
    line = json.dumps(changed(crawl_row(), stack="\x1b\n"))

    with pytest.raises(ValueError, match=r"^stack: invalid enum value '\? '$"):
        Row.from_json(line)


def test_a_number_too_small_to_divide_by_is_read_as_0() -> None:
    row: Any = scale_row("client", "wrk", CLIENT_ASKED, CLIENT | {"completed_per_s": 5e-324})

    assert row.measured.completed_per_s == 0
