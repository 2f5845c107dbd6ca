"""``from inflight import load, run``: what is stored or measured, for programs."""

import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import inflight
from inflight.bench.api import ExperimentError, NotInRunError, Results, RowsError
from inflight.bench.measure.process import ROOT
from inflight.bench.plan.experiment import load as load_experiment
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import append
from tests.api.made_results import made, reference
from tests.made_blocks import block
from tests.made_rows import crawl_row, edited, grid, memory_row, swarm_row

TINY = "strategies = ['callbacks', 'thread_pool']\nrounds = 7\n[[memory]]\nin_flight = [1, 2]\nsite = { links = 0 }\n"


@pytest.fixture(scope="module")
def quick() -> Results:
    return inflight.load(reference("quick"))


def test_a_stored_run_is_read_whole(quick: Results) -> None:
    lines = rows.text(quick.folder).splitlines()

    assert len(quick.rows) == len(lines)
    assert quick.machine == json.loads((quick.folder / "machine.json").read_text(encoding="utf-8"))
    assert repr(quick).startswith(f"<Results of {quick.folder.name}: {len(lines)} trials, ")


@pytest.mark.parametrize(("text", "why"), [("{", "truncated"), ("[]", "Expected `object`"), ("\0", "malformed")])
def test_a_damaged_machine_is_refused_and_a_missing_one_is_empty(tmp_path: Path, text: str, why: str) -> None:
    append(tmp_path, crawl_row())
    assert inflight.load(tmp_path).machine == {}

    (tmp_path / "machine.json").write_text(text, encoding="utf-8")
    with pytest.raises(RowsError, match=why):
        inflight.load(tmp_path)


def test_only_keeps_the_rows_that_have_all_of_it() -> None:
    results = made(grid(["one", "two", "three"], caps=(1, 10), rounds=2))

    some = results.only(strategies=["one", "two"], latency="50ms", in_flight=10, keep=lambda row: row.round == 1)

    assert [row.strategy for row in some.rows] == ["one", "two"]
    assert len(some.trials) == 2
    assert (some.folder, some.machine) == (results.folder, results.machine)
    assert results.only(strategies="one").only(connection="keep-alive", cpu="0").trials["strategy"].unique() == ["one"]


def test_the_use_of_connections_is_chosen_as_the_tables_have_it() -> None:
    plain, swarm = memory_row(), swarm_row()
    over_tls = edited(plain, workload={"tls": True})
    results = made([plain, over_tls, swarm])

    assert results.only(connection="keep-alive").rows == [plain, swarm]
    assert results.only(connection="keep-alive over TLS").rows == [over_tls]


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"strategies": "calbacks"}, "no trial here has strategy 'calbacks'; did you mean \"callbacks\"?"),
        ({"in_flight": 7}, "no trial here has in_flight 7; known: 100"),
        ({"cpu": "2ms"}, "no trial here has cpu '2ms'; known: 0"),
    ],
)
def test_only_refuses_what_no_row_has(wanted: dict[str, Any], told: str) -> None:
    with pytest.raises(NotInRunError) as refused:
        made([crawl_row(), *block()]).only(**wanted)

    assert str(refused.value) == told


def test_summary_and_answer_are_those_of_the_rows(quick: Results) -> None:
    from inflight.bench.show.answer import answer_of
    from inflight.bench.show.studies import Studies

    answer, found = answer_of(Studies(quick.rows, quick.folder)), quick.summary()
    assert found["trials"]["planned"] == len(quick.rows)
    assert found["answer"] == answer.as_json()
    assert quick.answer()[:-1] == [*answer.state, *answer.sentences]


def test_the_page_is_written_to_the_given_path(tmp_path: Path) -> None:
    append(tmp_path, crawl_row())
    results = inflight.load(tmp_path)

    assert results.report() == tmp_path / "report.html"
    assert results.report(str(tmp_path / "other.html")) == tmp_path / "other.html"
    assert (tmp_path / "other.html").read_bytes() == (tmp_path / "report.html").read_bytes()


def test_importing_bench_loads_nothing_and_reading_loads_nothing_that_measures() -> None:
    code = f"""if True:
        import sys, json, inflight
        alone = [name for name in sys.modules if name.startswith("inflight.")]
        inflight.load({str(reference("quick"))!r}).answer
        print(json.dumps([alone, sorted(sys.modules)]))
    """
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    alone, loaded = json.loads(done.stdout)

    assert alone == []
    heavy = {
        "pandas",
        "matplotlib",
        "numpy",
        "scipy",
        "psutil",
        "inflight.strategies",
        "inflight.fake_server",
        "inflight.bench.measure.run",
    }
    assert not heavy & set(loaded)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, str]:
    """Run an experiment in a thread, as a program with a window would; return the results and what was said."""
    folder = tmp_path_factory.mktemp("ran")
    (folder / "tiny.toml").write_text(TINY, encoding="utf-8")
    said = StringIO()
    with redirect_stderr(said), ThreadPoolExecutor(1) as pool:
        options: dict[str, Any] = {"strategies": ["callbacks"], "rounds": 1, "seed": 5, "memory_budget": 10**9}
        results = pool.submit(inflight.run, folder / "tiny.toml", out=folder / "here", **options).result()
    return results, said.getvalue()


def test_a_run_returns_what_it_found_and_keeps_it(ran: tuple[Results, str]) -> None:
    results, said = ran

    assert [row.strategy for row in results.rows] == ["callbacks"] * 2
    assert [row.status for row in results.rows] == ["ok"] * 2
    assert results.folder.parent.name == "here"
    assert inflight.load(results.folder) == results
    assert re.findall(r"^(\d/\d)  callbacks", said, re.MULTILINE) == ["1/2", "2/2"]


def test_a_run_keeps_the_experiment_as_it_was_run_and_the_command_that_would_do_it(ran: tuple[Results, str]) -> None:
    results, _ = ran
    kept = load_experiment(str(results.folder / "experiment.toml"), ["callbacks"])

    assert (kept.strategies, kept.rounds, kept.seed) == (("callbacks",), 1, 5)
    *command, experiment = results.machine["command"][:3]
    assert command == ["inflight", "run"]
    assert experiment.endswith("tiny.toml")
    assert results.machine["command"][3:] == ["--strategy", "callbacks", "--rounds", "1", "--seed", "5"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"experiment": "qick"}, "no preset 'qick'; did you mean \"quick\"?"),
        ({"strategies": "calbacks"}, "strategies: unknown strategy 'calbacks'; did you mean \"callbacks\"?"),
        ({"strategies": []}, "strategies: name at least one"),
        ({"rounds": 0}, "rounds must be a whole number from 1 to 1000, not 0"),
        ({"seed": "1"}, "seed must be a whole number from 0"),
        (
            {"memory_budget": "much"},
            'memory_budget: "much" is not a size; write a number and kB, MB or GB, such as 500MB',
        ),
        ({"memory_budget": 0}, "memory_budget must be a whole number from 1"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_is_written(
    tmp_path: Path, options: dict[str, Any], told: str
) -> None:
    with pytest.raises(ExperimentError) as refused:
        inflight.run(**options, out=tmp_path / "out")

    assert str(refused.value).startswith(told)
    assert not (tmp_path / "out").exists()


@pytest.mark.ci
def test_an_interrupted_run_keeps_its_rows_and_says_where(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY.replace("rounds = 7", "rounds = 500"), encoding="utf-8")
    code = """if True:
        import inflight
        try:
            inflight.run("tiny.toml", strategies="callbacks")
        except KeyboardInterrupt as interrupt:
            print(*interrupt.__notes__)
    """
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            assert process.stderr is not None
            assert "1/1000" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            told, _ = process.communicate()
        finally:
            process.kill()

    (folder,) = (tmp_path / "results").iterdir()
    assert told.startswith(f"finished rows are in results/{folder.name}: inflight.load reads them")
    assert len(inflight.load(folder).rows) >= 1
