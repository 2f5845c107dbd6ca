"""The registry: every file loads, its trials fit the rows' format and the time there is; wrong files are refused."""

import re
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from inflight import strategies
from inflight.bench.plan.arm import BlockTrial
from inflight.bench.plan.experiment import ExperimentError, parse
from inflight.bench.plan.trials import estimate_ns, row_trials
from inflight.bench.rows.files import Row, Status
from inflight.bench.rows.records import changed
from inflight.bench.rows.values import plain_values
from inflight.bench.studies import claims
from inflight.bench.studies.claims.cells import key_of_row, parts_of
from inflight.bench.studies.claims.command import could_not_run, rows_of, work_out
from inflight.bench.studies.claims.rules import RULES
from tests.made_rows import crawl_row

KNOWN = strategies.names()
ALL = [claims.load(claim_id, KNOWN) for claim_id in claims.ids()]
MINUTE_NS = 60_000_000_000


def test_each_rule_has_a_file_and_each_file_a_rule() -> None:
    assert {path.stem for path in claims.FOLDER.glob("*.toml")} == set(RULES)


def test_the_order_is_that_of_the_rules() -> None:
    assert [claim.file.order for claim in ALL] == list(range(1, len(RULES) + 1))


@pytest.mark.parametrize("quick", [False, True], ids=["all", "quick"])
def test_trials_fit_the_format_of_rows(quick: bool) -> None:
    for trial in (part for one in work_out(ALL, quick=quick).trials.values() for part in row_trials(one)):
        row = changed(crawl_row(status="skipped"), kind=trial.kind, workload=trial.values, stack=trial.stack)

        assert plain_values(Row.from_json(row.to_json()).workload) == trial.values


def test_quick_claims_are_estimated_below_two_minutes() -> None:
    assert estimate_ns(work_out(ALL, quick=True).trials.values()) < 2 * MINUTE_NS


def test_all_claims_are_estimated_below_thirty_minutes() -> None:
    assert estimate_ns(work_out(ALL, quick=False).trials.values()) < 30 * MINUTE_NS


def test_a_trial_of_several_claims_is_run_once() -> None:
    needed = work_out(ALL, quick=False)
    alone = sum(len(work_out([claim], quick=False).trials) for claim in ALL)

    assert len(needed.trials) < alone
    assert len({trial.id for trial in needed.trials.values()}) == len(needed.trials)


def test_a_claim_has_trials_of_its_own_in_the_whole() -> None:
    needed = work_out(ALL, quick=False)

    for claim in ALL:
        own = work_out([claim], quick=False).trials
        assert own
        assert set(own) <= set(needed.trials)


@pytest.mark.parametrize("quick", [False, True], ids=["all", "quick"])
def test_the_experiment_of_a_run_reads_back_as_it_was_written(quick: bool) -> None:
    experiment = work_out(ALL, quick=quick).experiment

    assert parse(experiment.to_dict(), experiment.name, KNOWN, "experiment.toml") == experiment


def test_an_unknown_id_is_answered_with_the_nearest() -> None:
    with pytest.raises(ExperimentError, match=r"^no claim 'c10'; did you mean \"c10k\"\?$"):
        claims.load("c10", KNOWN)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("order = 17", "order = 0", "Expected `int` >= 1 - at `$.order`"),
        ("source =", "sauce =", "unknown field `sauce`"),
        ("[explanations]", '[explanations]\nperhaps = "x"', "Invalid enum value 'perhaps'"),
        ('"does not hold here"', '"not tested"', "has no paragraph for does not hold here"),
        ('probe = "races"', 'probe = "race"', "unknown probe 'race'; did you mean \"races\"?"),
        ("order", "= order", "Invalid"),
    ],
)
def test_a_wrong_file_is_refused_in_one_sentence(before: str, after: str, sentence: str, tmp_path: Path) -> None:
    text = (claims.FOLDER / "races.toml").read_text(encoding="utf-8")
    assert before in text
    (tmp_path / "races.toml").write_text(text.replace(before, after, 1), encoding="utf-8")

    with pytest.raises(ExperimentError, match=re.escape(sentence)) as refused:
        claims.load("races", KNOWN, tmp_path)

    assert "\n" not in str(refused.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match=r"races\.toml"):
        claims.load("races", KNOWN, tmp_path)


def test_a_block_is_shared_by_claims_that_ask_for_the_same_arms_and_not_by_others() -> None:
    by_id = {claim.id: claim for claim in ALL}
    keys = {name: set(work_out([by_id[name]], quick=False).trials) for name in by_id}

    common = keys["async-not-faster"] & keys["callbacks-efficient"]

    assert {key[0] for key in common} == {"arm"}
    assert len(common) == by_id["callbacks-efficient"].experiment.rounds
    assert not any(key[0] == "arm" for key in keys["pooling-pays"] & keys["async-not-faster"])


def test_each_claim_has_the_rows_of_its_own_trials() -> None:
    needed = work_out(ALL, quick=False)
    rows = [
        changed(
            crawl_row(part.strategy, status="skipped"),
            kind=part.kind,
            stack=part.stack,
            round=part.round,
            workload=part.values,
        )
        for trial in needed.trials.values()
        for part in row_trials(trial)
    ]

    for claim in ALL:
        own = rows_of(claim.experiment, rows)
        assert {key_of_row(row) for row in own} == parts_of(work_out([claim], quick=False).trials.values())


def test_claims_true_by_construction_are_demonstrations() -> None:
    shown = {claim.id for claim in ALL if claim.file.kind == "demonstration"}

    assert shown == {"xkcd", "redirects-coalesce", "grow-on-demand", "spin-wastes"}


@pytest.mark.parametrize(
    ("statuses", "broken"),
    [(["failed", "timeout"], True), (["failed", "ok"], False), (["failed", "skipped"], False), ([], False)],
)
def test_a_claim_could_not_be_tested_if_all_its_trials_failed(statuses: list[Status], broken: bool) -> None:
    assert could_not_run([crawl_row(status=status) for status in statuses]) == broken


def test_claims_that_are_not_quick_are_named() -> None:
    needed = work_out(ALL, quick=True)

    assert set(needed.left_out) == {claim.id for claim in ALL if claim.quick is None}
    with pytest.raises(ExperimentError, match=r"^memory-ratio: not part of --quick; leave --quick out$"):
        work_out([claim for claim in ALL if claim.id == "memory-ratio"], quick=True)


def test_a_claim_that_takes_strategies_measures_them_beside_its_own() -> None:
    claim = next(claim for claim in ALL if claim.id == "diminishing-returns")
    open_to_all = replace(claim, file=msgspec.structs.replace(claim.file, takes_strategies=True))

    more = open_to_all.with_strategies(["generators", "callbacks"])

    assert more.experiment.strategies == (*claim.experiment.strategies, "generators")
    added = set(work_out([more], quick=False).trials) - set(work_out([claim], quick=False).trials)
    assert {name for _, name, _, _ in added} == {
        "generators (in_flight=100), generators (in_flight=100) again, generators (in_flight=3000)"
    }
    with pytest.raises(ExperimentError, match=r"^diminishing-returns compares what its text names"):
        claim.with_strategies(["generators"])


def test_blocks_of_equal_names_on_different_interpreters_are_different_trials() -> None:
    claim = claims.load("free-threading-scales", KNOWN)

    needed = work_out([claim], quick=False)

    pythons = [{arm.python for arm in trial.arms} for trial in needed.trials.values() if isinstance(trial, BlockTrial)]
    blocks = len(claim.experiment.strategies) * claim.experiment.rounds
    assert [pythons.count({name}) for name in ("free-threaded", "with-the-lock")] == [blocks, blocks]
