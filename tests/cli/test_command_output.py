"""Output that is lost is an error, for every command and however it prints; a reader that goes away is none."""

import fcntl
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import click
import pytest

from inflight.bench.cli import main
from inflight.bench.commands.exits import EXITS, REFUSED
from inflight.bench.core import rows
from tests.cli.command import ENVIRONMENT, INFLIGHT
from tests.compare.made_runs import noisy_run, saved
from tests.fake_server.running import Running
from tests.made_rows import block_rows, grid
from tests.race.made_races import runner

FULL = Path("/dev/full")
LOST = "inflight: cannot write to standard output: No space left on device\n"
TINY = "strategies = ['callbacks']\npin = false\n[[crawl]]\npages = 20\nlatency = ['1ms']\n"
QUICK = next((Path(__file__).parents[2] / "results" / "reference").glob("*-quick"))
SERVER = [sys.executable, "-m", "inflight.fake_server"]

needs_a_full_disk = pytest.mark.skipif(not FULL.exists(), reason="there is no disk that is always full")


def walk(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Return the words that call a command, and each command below it."""
    yield path
    if isinstance(command, click.Group):
        for name, below in command.commands.items():
            yield from walk(below, (*path, name))


CALLED = list(walk(main))
RESULTS = {
    "run": ["run", "smoke", "--list"],
    "race": ["race", "raced"],
    "report md": ["report", "run", "--format", "md"],
    "report csv": ["report", "run", "--format", "csv"],
    "report json": ["report", "run", "--format", "json"],
    "advise": ["advise", "--latency", "80ms", "--in-flight", "100", "--from", "costs"],
    "compare": ["compare", "base", "head"],
    "compare --json": ["compare", "base", "head", "--json"],
    "history": ["history", "base", "head"],
    "claims": ["claims", "--list"],
    "limits": ["limits", "descriptors", "--predict"],
    "limits --json": ["limits", "descriptors", "--predict", "--json"],
    "swarm": ["swarm", "--in-flight", "1000", "--plan"],
    "crawl": ["crawl", "{url}"],
    "crawl --json": ["crawl", "{url}", "--json"],
    "check": ["check", "sequential", "--rule", "ends"],
    "list": ["list"],
    "completion": ["completion", "bash"],
}
"""What prints results, by name; of a command that takes minutes, what it prints without measuring."""
HELP_ONLY = {
    "demo": "takes ten seconds",
    "ab": "takes a minute",
    "bisect": "takes minutes",
    "selftest": "takes minutes",
    "open-loop": "prints as run does",
    "serve": "prints nothing",
}
LEFT_BY_READERS = ["--version", "--help", "report csv", "limits --json", "crawl --json", "list", "completion"]
"""One of each way to print, which is enough: nothing here depends on what is printed."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all that the commands read."""
    place = tmp_path_factory.mktemp("output")
    (place / "tiny.toml").write_text(TINY, encoding="utf-8")
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


def end(arguments: list[str], out: IO[bytes] | int, folder: Path | None = None) -> tuple[int, str]:
    """Run a command line with this as its standard output; return its exit code, and what it said on standard error."""
    done = subprocess.run(
        arguments,
        cwd=folder, env=ENVIRONMENT, stdout=out, stderr=subprocess.PIPE, text=True, check=False,
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
    assert {path[0] for path in CALLED if path} == set(EXITS)


@needs_a_full_disk
@pytest.mark.parametrize("path", [*((*path, "--help") for path in CALLED), ("--version",)], ids=" ".join)
def test_lost_help_is_an_error(path: tuple[str, ...]) -> None:
    with FULL.open("wb") as full:
        assert end([*INFLIGHT, *path], full) == (REFUSED, LOST)


@needs_a_full_disk
@pytest.mark.parametrize("name", ["list", "serve"])
def test_lost_unbuffered_help_is_an_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "PYTHONUNBUFFERED", "1")

    with FULL.open("wb") as full:
        assert end([*INFLIGHT, name, "--help"], full) == (REFUSED, LOST)


@needs_a_full_disk
@pytest.mark.parametrize("name", RESULTS)
def test_lost_results_are_an_error(name: str, folder: Path, url: str) -> None:
    with FULL.open("wb") as full:
        code, said = end([*INFLIGHT, *(word.format(url=url) for word in RESULTS[name])], full, folder)

    assert code == REFUSED
    assert said.endswith(LOST)
    assert said.count("cannot write") == 1


@pytest.mark.parametrize("name", LEFT_BY_READERS)
def test_a_reader_that_goes_away_is_no_error(name: str, folder: Path, url: str) -> None:
    arguments = [word.format(url=url) for word in RESULTS.get(name, [name])]

    with nobody_reads() as gone:
        code, said = end([*INFLIGHT, *arguments], gone, folder)

    assert code == 0
    assert "rror" not in said
    assert "cannot write" not in said


@needs_a_full_disk
def test_a_verdict_keeps_its_exit_code_when_output_is_lost(tmp_path: Path) -> None:
    sides = [saved(tmp_path / name, noisy_run(seed, rounds=1)) for seed, name in enumerate(("base", "head"))]

    with FULL.open("wb") as full:
        code, said = end([*INFLIGHT, "compare", *map(str, sides)], full)

    assert (code, said) == (3, LOST)


@needs_a_full_disk
def test_rows_and_page_are_written_when_output_is_lost(folder: Path, tmp_path: Path) -> None:
    with FULL.open("wb") as full:
        code, said = end([*INFLIGHT, "run", str(folder / "tiny.toml")], full, tmp_path)

    (run,) = (tmp_path / "results").iterdir()
    (row,) = rows.read(run)
    assert code == (REFUSED if row.valid else 1)
    assert LOST in said
    assert (run / "report.html").is_file()


@needs_a_full_disk
def test_a_run_continues_when_messages_are_lost(folder: Path, tmp_path: Path) -> None:
    with FULL.open("wb") as full:
        done = subprocess.run(
            [*INFLIGHT, "run", str(folder / "tiny.toml")],
            cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=full, text=True, check=False,
        )  # fmt: skip

    (run,) = (tmp_path / "results").iterdir()
    assert "callbacks" in done.stdout
    assert len(rows.read(run)) == 1


def test_a_slow_reader_of_a_non_blocking_pipe_gets_everything(folder: Path) -> None:
    command = [*INFLIGHT, "report", str(QUICK), "--format", "csv"]
    whole = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, check=True).stdout
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETFL, os.O_NONBLOCK)
    with subprocess.Popen(command, env=ENVIRONMENT, stdout=writer) as process, os.fdopen(reader, "rb") as slow:
        while select.select([], [writer], [], 0)[1]:  # until the pipe is full
            time.sleep(0.01)
        os.close(writer)
        read = slow.read()

    assert (process.returncode, read) == (0, whole)


def test_output_closed_before_the_start_is_no_error() -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *INFLIGHT, "list"],
        env=ENVIRONMENT, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")


@needs_a_full_disk
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["--help"], ["--port", "0", "--ready-line"]], ids=" ".join)
def test_the_server_ends_when_its_output_is_lost(
    arguments: list[str], unbuffered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(ENVIRONMENT, "PYTHONUNBUFFERED", unbuffered)

    with FULL.open("wb") as full:
        assert end([*SERVER, *arguments], full) == (REFUSED, LOST.removeprefix("inflight: "))


@pytest.mark.parametrize("arguments", [["--help"], ["--port", "0", "--ready-line"]], ids=" ".join)
def test_the_server_ends_quietly_when_nobody_reads(arguments: list[str]) -> None:
    with nobody_reads() as gone:
        assert end([*SERVER, *arguments], gone) == (0, "")
