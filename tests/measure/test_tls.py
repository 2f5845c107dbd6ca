"""Crawls of https: planned, refused, measured, and told apart from others."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as replace_fields

from inflight import strategies
from inflight.bench.frame.frame import trials as table_of
from inflight.bench.frame.ratios import cell_of
from inflight.bench.measure import host, preflight
from inflight.bench.measure.blocks import comparing
from inflight.bench.measure.crawl import run_trial
from inflight.bench.measure.server import Server
from inflight.bench.measure.trial import Setting
from inflight.bench.plan.comparison import comparison
from inflight.bench.plan.experiment import Experiment, ExperimentError, parse
from inflight.bench.plan.trial import Trial
from inflight.bench.plan.trials import expand, without_tls
from inflight.bench.rows import files as rows
from inflight.bench.rows.kinds import Arm
from inflight.bench.show import at_once
from inflight.bench.show.answer import answer_of
from inflight.bench.show.studies import Studies
from inflight.fake_server.site import SiteConfig
from inflight.strategies.base import Job
from inflight.strategies.core.frontier import Frontier
from tests.cli.command import call
from tests.made_rows import block_rows, edited, held_row
from tests.patience import FOREVER_S

SETTING = Setting("run", host.Cpus(None, None), lambda _: FOREVER_S)


def experiment(*names: str, **tables: Any) -> Experiment:
    return parse({"strategies": list(names), **tables}, "x", strategies.names(), "x")


def plan(asked: Experiment) -> list[Trial]:
    return expand(asked, {name: strategies.describe(name) for name in asked.strategies})


def over_tls(name: str, kind: str = "crawl", **options: Any) -> Trial:
    (trial,) = plan(experiment(name, **{kind: [{"tls": True, "in_flight": [4], **options}]}))
    return trial


def test_a_table_has_workloads_of_https_and_of_http_with_ids_of_their_own() -> None:
    planned = plan(experiment("callbacks", crawl=[{"in_flight": [2], "cpu": ["1ms"], "tls": [False, True]}]))

    assert {trial.id: trial.workload.tls for trial in planned} == {
        "crawl/latency=0/in_flight=2/keep-alive/cpu=1ms/callbacks/round=1": False,
        "crawl/latency=0/in_flight=2/keep-alive/tls/cpu=1ms/callbacks/round=1": True,
    }


def test_a_strategy_without_tls_is_left_out_of_https_alone() -> None:
    asked = experiment("callbacks", "asyncio_sockets", crawl=[{"in_flight": [2], "tls": [False, True]}])
    described = {name: strategies.describe(name) for name in asked.strategies}

    assert sorted((trial.name, trial.workload.tls) for trial in plan(asked)) == [
        ("asyncio_sockets", False), ("callbacks", False), ("callbacks", True),
    ]  # fmt: skip
    assert without_tls(asked, described) == {"asyncio_sockets": "asyncio's functions for sockets take no SSLSocket"}
    assert without_tls(experiment("asyncio_sockets", crawl=[{}]), described) == {}


def test_an_experiment_over_tls_has_another_name_and_https_in_all_tables_of_crawls() -> None:
    asked = experiment(
        "callbacks", crawl=[{}], throughput=[{}], memory=[{}], limit=[{"resources": ["ports"]}]
    ).over_tls()

    assert asked.name == "x-tls"
    assert {trial.workload.tls for trial in plan(asked) if trial.kind != "limit"} == {True}


@pytest.mark.parametrize(("available", "is_refused"), [(3 * 310_000 * 2, True), (4 * 310_000 * 2, False)])
def test_what_asyncio_needs_over_tls_is_refused_where_it_does_not_fit(
    available: int, is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "available_bytes", lambda: available)
    trial = over_tls("native_asyncio", "memory")

    reasons = preflight.shortages(trial).get(trial.id, "")

    assert reasons.startswith("4 connections over TLS need 0.0 GB of memory with native_asyncio") is is_refused
    assert not preflight.shortages(over_tls("callbacks", "memory"))


def test_arms_of_a_block_need_their_memory_over_tls_together(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"in_flight": [4], "tls": [False, True], "site": {"links": 1}}
    plain, block = plan(experiment("callbacks", "native_asyncio", "asyncio_tasks", throughput=[table], rounds=1))

    def refused(available: int) -> dict[str, str]:
        monkeypatch.setattr(preflight, "available_bytes", lambda: available)
        assert preflight.shortages(plain) == {}
        return {trial_id.split("/")[-2]: reason for trial_id, reason in preflight.shortages(block).items()}

    both = 4 * (2 * 100_000 + 2 * 310_000)  # the placebo of callbacks is alive, too

    assert refused(2 * both) == {}
    assert refused(2 * both - 2).keys() == {"native_asyncio", "asyncio_tasks"}
    assert refused(0)["callbacks"].startswith("8 connections over TLS need 0.0 GB of memory with callbacks, and 0.0")
    assert (
        "16 connections over TLS need 0.0 GB of memory with callbacks, native_asyncio, asyncio_tasks, and"
        in (refused(0)["native_asyncio"])
    )


@pytest.mark.parametrize(("of_b", "is_refused"), [({"tls": True}, True), ({}, False)])
def test_memory_over_tls_that_does_not_fit_is_refused_before_a_comparison(
    of_b: dict[str, bool], is_refused: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(preflight, "available_bytes", lambda: 1_000_000_000)
    a = Arm("native_asyncio", "native_asyncio", "compared")
    compared = comparison(a, replace_fields(a, **of_b), SiteConfig(), ("memory",))

    sentence = "--metric memory: 6,350 connections over TLS need 2.0 GB of memory with native_asyncio, and 0.5 GB can"
    with pytest.raises(ExperimentError, match=sentence) if is_refused else nullcontext():
        comparing.ready(compared, tmp_path)


@pytest.mark.parametrize("name", ["callbacks", "thread_pool", "native_asyncio"])
@pytest.mark.parametrize("kind", ["crawl", "memory"])
def test_a_crawl_of_https_is_measured_and_names_its_openssl(name: str, kind: str, fake: Server) -> None:
    row = run_trial(over_tls(name, kind, site={"pages": 20, "links": 0}), fake, SETTING)
    other = run_trial(replace(over_tls(name, kind, tls=False, site={"pages": 20, "links": 0})), fake, SETTING)

    assert (row.status, row.reason, other.status) == ("ok", None, "ok")
    assert (row.workload.tls, other.workload.tls) == (True, False)
    assert (row.knobs.openssl or "").startswith("OpenSSL ")
    assert other.knobs.openssl is None
    assert "tls" not in other.to_json()


def test_the_urls_of_a_server_have_the_scheme_of_their_port(fake: Server) -> None:
    def schemes() -> list[str]:
        return [base.partition(":")[0] for base in fake.bases]

    fake.clear(tls=True)
    assert set(schemes()) == {"https"}
    fake.gates([False, True])
    assert schemes() == ["http", "https"]
    fake.clear()
    assert set(schemes()) == {"http"}


@pytest.mark.ci
def test_arms_with_and_without_tls_are_in_one_block(tmp_path: Path) -> None:
    text = 'strategies = ["callbacks"]\nrounds = 1\n[[throughput]]\nin_flight = [4]\ncycles = 2\ntls = true\n'
    (tmp_path / "x.toml").write_text(f"{text}against = {{ tls = false }}\n", encoding="utf-8")

    call("run", str(tmp_path / "x.toml"), "--out", str(tmp_path), "--quiet")

    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert {row.arm: (row.status, row.workload.tls, bool(row.knobs.openssl)) for row in rows.read(folder)} == {
        "callbacks (tls=False)": ("ok", False, False),
        "callbacks (tls=False) again": ("ok", False, False),
        "callbacks (tls=True)": ("ok", True, True),
    }


def held_rows(*, tls: bool, each_bytes: int, sizes: tuple[int, ...]) -> list[rows.Row]:
    made = [held_row("native_asyncio", size, (each_bytes, 0, 0, 8_000)) for size in sizes]
    return [edited(row, workload={"tls": True}) for row in made] if tls else made


def test_rows_of_https_are_told_apart_and_three_sizes_are_enough_for_them() -> None:
    made = held_rows(tls=False, each_bytes=5_000, sizes=(100, 200, 300, 400, 500)) + held_rows(
        tls=True, each_bytes=300_000, sizes=(100, 300, 500)
    )
    studies = Studies(made)

    assert set(table_of(made)["connection"]) == {"keep-alive", "keep-alive over TLS"}
    assert len({cell_of(row)[4] for row in made}) == 2
    user = {over: at_once.slopes(studies, over_tls=over)["native_asyncio"] for over in (False, True)}
    assert user[True].estimate - user[False].estimate == pytest.approx(295_000, rel=0.01)
    assert any(line.startswith("Over TLS a fetch takes ") for line in answer_of(studies).sentences)


@pytest.mark.parametrize("name", ["process_pool", "thread_pool", "native_asyncio"])
@pytest.mark.parametrize("file", ["missing.pem", "empty.pem"])
def test_a_file_of_cas_that_cannot_be_read_is_an_os_error_of_the_crawl(name: str, file: str, tmp_path: Path) -> None:
    (tmp_path / "empty.pem").touch()
    job = Job(("https://127.0.0.1:9/",), ca=str(tmp_path / file))

    with pytest.raises(OSError, match=r"No such file|no certificate"):
        strategies.load(name).crawl(job, Frontier(job))


def test_a_run_of_https_alone_has_over_tls_in_the_heads_of_its_answer_and_says_memory_once() -> None:
    timed = [edited(row, workload={"tls": True}) for row in block_rows()]
    answer = answer_of(Studies([*timed, *held_rows(tls=True, each_bytes=300_000, sizes=(100, 300, 500))]))

    assert [column.heads[:2] for column in answer.columns] == [
        ("CPU time per page", "0 ms, 100 in flight over TLS"),
        ("pages/s", "0 ms, 100 in flight over TLS"),
        ("memory per fetch", "over TLS"),
    ]
    assert not any(sentence.startswith("Over TLS a fetch takes ") for sentence in answer.sentences)


def test_memory_without_a_slope_on_a_busy_machine_names_the_strategies_and_the_reason() -> None:
    busy = {"held_disturbed": "of others: +9 tasks"}
    rows = held_rows(tls=True, each_bytes=300_000, sizes=(100, 300, 500))
    studies = Studies([rows[0], *(edited(row, measured=busy) for row in rows[1:])])

    (table,) = [table for section in studies.sections for table in section.tables if "Memory" in table.title]

    why = "the machine was busy, and other processes changed the counts of the kernel in too many trials"
    assert table.notes[-1] == f"-: {why} (native_asyncio)."
