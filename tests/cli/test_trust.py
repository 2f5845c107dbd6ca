"""Who may steer a server, and which commands run code that a folder or a file names."""

import socket
from pathlib import Path

import psutil
import pytest

from inflight.fake_server.config import CONTROL_SECRET
from tests.cli.command import call, inflight, running
from tests.cli.test_command_run_interrupted import only_run, write
from tests.patience import FOREVER_S, until
from tests.runs.made_runs import noisy_run, saved

MARKS = """
import pathlib
pathlib.Path("{marker}").touch()
from inflight.strategies.callbacks import crawl
STACK = "shared"
REQUIRES = ()
"""
EXPERIMENT = """
strategies = ["callbacks", "./marks.py"]
rounds = 1
[[crawl]]
pages = 5
"""


def listening(process: psutil.Process) -> list[int]:
    """Return the ports at which a process listens."""
    return [sock.laddr.port for sock in process.net_connections() if sock.status == psutil.CONN_LISTEN]


def test_the_secret_of_a_server_is_in_no_command_line_output_or_file_and_nothing_goes_without(tmp_path: Path) -> None:
    write(tmp_path, FOREVER_S)
    with running("run", "experiment.toml", folder=tmp_path) as started:
        until((tmp_path / "waits").exists)
        family = started.family()
        (server,) = (each for each in family if "inflight.fake_server" in each.cmdline())
        secret = server.environ()[CONTROL_SECRET]
        answers = []
        for port in listening(server):
            with socket.create_connection(("127.0.0.1", port)) as stranger:
                stranger.sendall(b'{"do": "stop"}\n\n')
                answers.append(stranger.makefile("rb").read())
        lines = [" ".join(each.cmdline()) for each in (psutil.Process(started.process.pid), *family)]
        others = [each.environ().get(CONTROL_SECRET) for each in family if each != server]
        assert server.is_running()
        started.interrupt()
        done = started.end()

    assert len(secret) == 64
    assert sum(b"must be the secret" in answer for answer in answers) == 1, "the control port"
    assert not any(b'"ok": true' in answer for answer in answers)
    assert others == [None] * (len(family) - 1)
    files = [path.read_bytes() for path in only_run(tmp_path).rglob("*") if path.is_file()]
    assert len(files) > 3
    assert not [text for text in (*lines, done.out, done.err) if secret in text]
    assert not [data for data in files if secret.encode() in data]


@pytest.fixture
def marked(tmp_path: Path) -> Path:
    """Return a folder with two runs, and an experiment with a strategy that leaves a marker when it is imported."""
    (tmp_path / "marks.py").write_text(MARKS.format(marker=tmp_path / "marker"), encoding="utf-8")
    (tmp_path / "marks.toml").write_text(EXPERIMENT, encoding="utf-8")
    for name in ("a", "b"):
        saved(tmp_path / name, noisy_run(), experiment=EXPERIMENT.replace("./marks", str(tmp_path / "marks")))
    return tmp_path


@pytest.mark.parametrize(
    "words",
    ["report a", "report a --format md", "compare a b", "race a", "list ./marks.py", "run marks.toml --dry-run",
     "swarm --strategy ./marks.py --in-flight 10 --dry-run", "advise --latency 5ms --in-flight 10 --from a"],
)  # fmt: skip
def test_what_reads_or_plans_runs_no_code_of_a_folder(marked: Path, words: str) -> None:
    inflight(*words.split(), folder=marked)

    assert not (marked / "marker").exists()


def test_what_measures_runs_the_code_that_a_file_names(marked: Path) -> None:
    done = call("run", marked / "marks.toml", "--out", marked / "out")

    assert done.code == 0
    assert (marked / "marker").exists()
