"""Too little memory, too few descriptors: one sentence that says what to do, and rows that were written are kept."""

import subprocess
import sys
from pathlib import Path

import pytest

from inflight.bench.core import rows
from tests.cli.command import ENVIRONMENT, inflight

TINY = "strategies = ['callbacks']\npin = false\n[[crawl]]\npages = 20\nlatency = ['1ms']\n"
LITTLE = ("RLIMIT_AS", 400_000 * 1024)
"""Enough to measure, and not enough for numpy, pandas, scipy and matplotlib."""
SAID = "tables and plots need about 700 MB of address space, and RLIMIT_AS (ulimit -v) leaves "
RAISING = """
import resource, sys
from inflight.bench.cli import main

@main.command()
def broken():
    if {limited}:
        resource.setrlimit(resource.RLIMIT_AS, ({bound}, {bound}))
    try:
        raise {first}
    except Exception as error:
        raise {then} from error

sys.argv[1:] = ["broken"]
main()
"""


def test_a_run_with_little_address_space_keeps_its_rows_and_prints_the_next_command(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY, encoding="utf-8")

    done = inflight("run", "tiny.toml", folder=tmp_path, limit=LITTLE)

    (folder,) = (tmp_path / "results").iterdir()
    assert done.code == 2
    assert done.err.splitlines()[-1].startswith(f"inflight run: {SAID}")
    assert f"inflight report {folder.relative_to(tmp_path)} " in done.err
    assert [row.status for row in rows.read(folder)] == ["ok"]
    assert inflight("report", folder.relative_to(tmp_path), folder=tmp_path).code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["report"], ["race"], ["compare", "a", "b"], ["claims", "c10k"], ["ab", "callbacks", "callbacks"], ["selftest"],
        ["advise", "--latency", "1ms", "--in-flight", "2"], ["bisect", "a", "b", "c"], ["history"],
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_commands_that_need_more_address_space_do_not_begin(tmp_path: Path, arguments: list[str]) -> None:
    done = inflight(*arguments, folder=tmp_path, limit=LITTLE)

    assert done.sentence.startswith(SAID)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("first", "then", "limited"),
    [
        ("MemoryError()", "MemoryError()", False),
        ("MemoryError()", "ValueError('wrapped')", False),
        ("OSError(12, 'Cannot allocate memory')", "OSError(12, 'Cannot allocate memory')", False),
        ("ImportError('x.so: failed to map segment')", "ImportError('advice')", True),
        ('RuntimeError("can\'t start new thread")', "ValueError('wrapped')", True),
    ],
)
def test_lack_of_memory_is_one_sentence(first: str, then: str, limited: bool) -> None:
    code = RAISING.format(first=first, then=then, limited=limited, bound=LITTLE[1])

    done = subprocess.run(
        [sys.executable, "-c", code],
        env=ENVIRONMENT, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.endswith("Finished rows are kept.\n")


@pytest.mark.parametrize("error", ["ImportError('no such module')", "RuntimeError('a bug')", "OSError(2, 'gone')"])
def test_with_enough_memory_other_errors_are_internal_errors(error: str) -> None:
    code = RAISING.format(first=error, then=error, limited=False, bound=0)

    done = subprocess.run(
        [sys.executable, "-c", code],
        env=ENVIRONMENT, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 70
    assert "Traceback" in done.stderr
