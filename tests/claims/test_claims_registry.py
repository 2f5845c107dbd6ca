"""The registry: every file loads, its trials fit the rows' format and the time there is; wrong files are refused."""

import re
from pathlib import Path

import msgspec
import pytest

from inflight import strategies
from inflight.bench.claims import claims
from inflight.bench.claims.command import work_out
from inflight.bench.claims.trials import TIMED_PROBES, key_of_row, parts_of
from inflight.bench.plan.experiment import ExperimentError, parse
from inflight.bench.plan.trial import row_trials
from inflight.bench.plan.trials import estimate_ns
from inflight.bench.rows import records
from inflight.bench.rows.records import changed
from tests.claims.cases import CLAIMS
from tests.made_rows import crawl_row

KNOWN = strategies.names()
ALL = list(CLAIMS.values())
MINUTE_NS = 60_000_000_000


def test_each_claim_has_a_place_of_its_own() -> None:
    assert sorted(claim.file.order for claim in ALL) == list(range(1, len(ALL) + 1))


@pytest.mark.parametrize("quick", [False, True], ids=["all", "quick"])
def test_trials_fit_the_format_of_rows(quick: bool) -> None:
    for trial in (part for one in work_out(ALL, quick=quick).trials.values() for part in row_trials(one)):
        row = changed(crawl_row(status="skipped"), kind=trial.kind, workload=trial.workload, stack=trial.stack)

        assert msgspec.to_builtins(records.read(row.to_json()).workload) == msgspec.to_builtins(trial.workload)


@pytest.mark.parametrize(("quick", "minutes"), [(True, 2), (False, 30)])
def test_the_estimated_time_is_what_the_documents_say(quick: bool, minutes: int) -> None:
    assert estimate_ns(work_out(ALL, quick=quick).trials.values()) < minutes * MINUTE_NS


@pytest.mark.parametrize("quick", [False, True], ids=["all", "quick"])
def test_the_experiment_of_a_run_reads_back_as_it_was_written(quick: bool) -> None:
    experiment = work_out(ALL, quick=quick).experiment

    assert parse(experiment.to_dict(), experiment.name, KNOWN, "experiment.toml") == experiment


def test_a_trial_of_several_claims_is_run_once_and_each_claim_has_its_rows() -> None:
    needed = work_out(ALL, quick=False)
    rows = [
        changed(
            crawl_row(part.name, status="skipped"),
            kind=part.kind, stack=part.stack, round=part.round, workload=part.workload,
        )
        for trial in needed.trials.values()
        for part in row_trials(trial)
    ]  # fmt: skip
    own = {claim.id: work_out([claim], quick=False).trials for claim in ALL}

    assert len({trial.id for trial in needed.trials.values()}) == len(needed.trials) < sum(map(len, own.values()))
    for claim, found in needed.rows_of(rows):
        assert {key_of_row(row) for row in found} == parts_of(own[claim.id].values())
    common = own["async-not-faster"].keys() & own["callbacks-efficient"].keys()
    assert {key[0] for key in common} == {"arm"}
    assert len(common) == CLAIMS["callbacks-efficient"].experiment.rounds
    timed = [key for keys in own.values() for key in keys if key[0] == "crawl" or key[1] in TIMED_PROBES]
    assert len(set(timed)) == len(timed)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("order = 17", "order = 0", "Expected `int` >= 1 - at `$.order`"),
        ("source =", "sauce =", "unknown field `sauce`"),
        ("[why]", '[why]\nperhaps = "x"', "Invalid enum value 'perhaps'"),
        ('"not true here"', '"not tested"', "has no sentence for not true here"),
        ('test = "below"', 'test = "above"', "Invalid enum value 'above' - at `$.parts[0].test`"),
        ('figures = ["small"', 'figures = ["tiny"', "[figures] has no tiny"),
        ("in_flight =", "in_flights =", "unknown key"),
        ("order", "= order", "Invalid"),
    ],
)
def test_a_wrong_file_is_refused_in_one_sentence(before: str, after: str, sentence: str, tmp_path: Path) -> None:
    text = (claims.FOLDER / "await-is-free.toml").read_text(encoding="utf-8").replace("order = 24", "order = 17")
    assert before in text
    (tmp_path / "await-is-free.toml").write_text(text.replace(before, after, 1), encoding="utf-8")

    with pytest.raises(ExperimentError, match=re.escape(sentence)) as refused:
        claims.load("await-is-free", KNOWN, tmp_path)

    assert "\n" not in str(refused.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"races\.toml"):
        claims.load("races", KNOWN, tmp_path)


def test_claims_that_are_not_quick_are_named() -> None:
    assert set(work_out(ALL, quick=True).left_out) == {claim.id for claim in ALL if claim.quick is None}


def test_blocks_of_equal_names_on_different_interpreters_are_different_trials() -> None:
    claim = CLAIMS["free-threading-scales"]

    needed = work_out([claim], quick=False)

    pythons = [{arm.python for arm in trial.arms} for trial in needed.trials.values() if trial.is_block]
    blocks = len(claim.experiment.strategies) * claim.experiment.rounds
    assert [pythons.count({name}) for name in ("free-threaded", "with-the-lock")] == [blocks, blocks]
