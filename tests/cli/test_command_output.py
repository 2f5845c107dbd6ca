"""Output that is lost is an error, for every command and however it prints; a reader that goes away is none."""

import fcntl
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pytest

from inflight.bench.cli import EXITS, REFUSED, main
from inflight.bench.rows import files as rows
from tests.cli.command import ENVIRONMENT, INFLIGHT, call
from tests.fake_server.running import Running
from tests.made_rows import block_rows, grid
from tests.patience import until
from tests.race.made_races import runner
from tests.runs.made_runs import noisy_run, saved

FULL = Path("/dev/full")
LOST = "inflight: cannot write to standard output: No space left on device\n"
LATE = "strategies = ['callbacks']\ndeadline_s = 0.001\n[[crawl]]\npages = 5\n"
SERVER = [sys.executable, "-m", "inflight.fake_server"]

RESULTS = {
    "run": ["run", "smoke", "--dry-run"],
    "race": ["race", "raced"],
    "report md": ["report", "run", "--format", "md"],
    "report csv": ["report", "run", "--format", "csv"],
    "report json": ["report", "run", "--format", "json"],
    "advise": ["advise", "--latency", "80ms", "--in-flight", "100", "--from", "costs"],
    "compare": ["compare", "base", "base"],
    "compare --json": ["compare", "base", "base", "--json"],
    "claims": ["claims", "--dry-run"],
    "limits": ["limits", "descriptors", "--dry-run"],
    "limits --json": ["limits", "descriptors", "--dry-run", "--json"],
    "swarm": ["swarm", "--in-flight", "1000", "--dry-run"],
    "crawl": ["crawl", "{url}"],
    "crawl --json": ["crawl", "{url}", "--json"],
    "check": ["check", "sequential", "--rule", "ends"],
    "list": ["list"],
}
"""What prints results, by name; of a command that takes minutes, what it prints without measuring."""
HELP_ONLY = {
    "demo": "takes ten seconds",
    "ab": "takes a minute",
    "selftest": "takes minutes",
    "open-loop": "prints as run does",
    "serve": "prints nothing",
}
WAYS = ["--version", "--help", "serve --help", "report csv", "limits --json", "crawl --json", "list"]
"""One of each way to print, by its name in ``RESULTS`` or its words: these are also processes, with their exit."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all that the commands read."""
    place = tmp_path_factory.mktemp("output")
    saved(place / "base", noisy_run(1))
    saved(place / "head", noisy_run(2))
    saved(place / "costs", block_rows())
    saved(place / "run", grid(latencies=("50ms",), caps=(1, 10), rounds=1))
    saved(place / "raced", [runner("callbacks", [5, 5]), runner("sequential", [1] * 10)])
    return place


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    site = Running("--pages", "5")
    yield f"http://127.0.0.1:{site.port}/"
    site.stop()


def end(arguments: list[str], out: TextIO | int, folder: Path | None = None, **env: str) -> tuple[int, str]:
    """Run a command line with this as its standard output; return its exit code, and what it said on standard error."""
    done = subprocess.run(
        arguments,
        cwd=folder, env=ENVIRONMENT | env, stdout=out, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    assert "Exception ignored" not in done.stderr, done.stderr
    return done.returncode, done.stderr


@contextmanager
def nobody_reads() -> Iterator[int]:
    """Give a pipe whose reader has gone."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


def test_every_command_is_covered_here() -> None:
    assert {arguments[0] for arguments in RESULTS.values()} | HELP_ONLY.keys() == set(EXITS)
    assert main.commands.keys() == set(EXITS)


@pytest.fixture
def full() -> Iterator[TextIO]:
    """Return a file that cannot be written."""
    if not FULL.exists():
        pytest.skip("there is no disk that is always full")
    with FULL.open("w", encoding="utf-8") as file:
        yield file


def words(name: str, url: str) -> list[str]:
    """Return the command line that a name stands for."""
    return [word.format(url=url) for word in RESULTS.get(name, name.split())]


@pytest.mark.parametrize("name", RESULTS)
def test_lost_results_are_an_error(name: str, folder: Path, url: str, full: TextIO) -> None:
    done = call(*words(name, url), folder=folder, into=full)

    assert done.code == REFUSED
    assert done.err.endswith(LOST)
    assert done.err.count("cannot write") == 1


@pytest.mark.parametrize(("name", "unbuffered"), [*((name, "") for name in WAYS), ("list", "1"), ("--help", "1")])
def test_a_process_whose_output_is_lost_ends_with_an_error(
    name: str, unbuffered: str, folder: Path, url: str, full: TextIO
) -> None:
    code, said = end([*INFLIGHT, *words(name, url)], full, folder, PYTHONUNBUFFERED=unbuffered)

    assert code == REFUSED
    assert said.endswith(LOST)


@pytest.mark.parametrize("name", WAYS)
def test_a_reader_that_goes_away_is_no_error(name: str, folder: Path, url: str) -> None:
    with nobody_reads() as gone:
        code, said = end([*INFLIGHT, *words(name, url)], gone, folder)

    assert code == 0
    assert "rror" not in said
    assert "cannot write" not in said


def test_a_verdict_keeps_its_exit_code_when_output_is_lost(tmp_path: Path, full: TextIO) -> None:
    sides = [saved(tmp_path / name, noisy_run(seed, rounds=1)) for seed, name in enumerate(("base", "head"))]

    done = call("compare", *sides, into=full)

    assert (done.code, done.err) == (3, LOST)
    assert call("compare", *sides).code == 3


def test_a_run_goes_on_to_its_page_when_output_and_messages_are_lost(tmp_path: Path, full: TextIO) -> None:
    (tmp_path / "late.toml").write_text(LATE, encoding="utf-8")

    done = subprocess.run(
        [*INFLIGHT, "run", "late.toml"], cwd=tmp_path, env=ENVIRONMENT, stdout=full, stderr=full, check=False
    )

    (run,) = (tmp_path / "results").iterdir()
    assert done.returncode == 1, "a verdict is kept"
    assert len(rows.read(run)) == 1
    assert (run / "report.html").is_file()


def test_a_slow_reader_of_a_non_blocking_pipe_gets_everything() -> None:
    words = ("run", "sweep", "--dry-run", "--json", "--rounds", "20")
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETFL, os.O_NONBLOCK)
    with (
        subprocess.Popen([*INFLIGHT, *words], env=ENVIRONMENT, stdout=writer) as process,
        os.fdopen(reader, "rb") as slow,
    ):
        until(lambda: not select.select([], [writer], [], 0)[1])  # the pipe is full
        os.close(writer)
        read = slow.read()

    assert (process.returncode, read.decode()) == (0, call(*words).out)


def test_output_closed_before_the_start_is_no_error() -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *INFLIGHT, "list"],
        env=ENVIRONMENT, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["--help"], ["--port", "0", "--ready-line"]], ids=" ".join)
def test_the_server_ends_when_its_output_is_lost(arguments: list[str], unbuffered: str, full: TextIO) -> None:
    told = LOST.removeprefix("inflight: ")

    assert end([*SERVER, *arguments], full, PYTHONUNBUFFERED=unbuffered) == (REFUSED, told)


@pytest.mark.parametrize("arguments", [["--help"], ["--port", "0", "--ready-line"]], ids=" ".join)
def test_the_server_ends_quietly_when_nobody_reads(arguments: list[str]) -> None:
    with nobody_reads() as gone:
        assert end([*SERVER, *arguments], gone) == (0, "")
