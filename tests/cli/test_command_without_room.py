"""Too little memory: one sentence that says what to do, and rows that were written are kept."""

from pathlib import Path

import pytest

from inflight.bench import cli
from inflight.bench.commands import address_space
from inflight.bench.rows import files as rows
from tests.cli.command import call, inflight

TINY = "strategies = ['callbacks']\npin = false\n[[crawl]]\npages = 20\nlatency = ['1ms']\n"
LITTLE = ("RLIMIT_AS", 400_000 * 1024)
"""Enough to measure, and not enough for numpy, pandas, scipy and matplotlib."""
SAID = "tables and plots need about 700 MB of address space, and RLIMIT_AS (ulimit -v) leaves "
NEEDY = (
    "report", "compare a b", "claims c10k", "ab callbacks callbacks", "selftest",
    "advise --latency 1ms --in-flight 2",
)  # fmt: skip


def test_a_run_with_little_address_space_keeps_its_rows_and_prints_the_next_command(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY, encoding="utf-8")

    done = inflight("run", "tiny.toml", folder=tmp_path, limit=LITTLE)

    (folder,) = (tmp_path / "results").iterdir()
    assert done.code == 2
    assert done.refusal.startswith(SAID)
    assert f"inflight report {folder.relative_to(tmp_path)} " in done.err
    assert [row.status for row in rows.read(folder)] == ["ok"]
    assert call("report", folder.relative_to(tmp_path), "--format", "csv", folder=tmp_path).code == 0


def test_commands_that_need_more_address_space_do_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_space, "shortage", lambda: "too little")

    assert len(NEEDY) == len(cli.READING)
    for words in NEEDY:
        assert call(*words.split(), folder=tmp_path).sentence == "too little"
    assert list(tmp_path.iterdir()) == []


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "short", "told"),
    [
        (MemoryError(), None, "no memory is left"),
        (OSError(12, "Cannot allocate memory"), None, "no memory is left"),
        (caused(ValueError("wrapped"), MemoryError()), None, "no memory is left"),
        (caused(ValueError("wrapped"), MemoryError()), "too little", "too little"),
        (caused(ImportError("advice"), ImportError("x.so: failed to map segment")), "too little", "too little"),
        (caused(ValueError("wrapped"), RuntimeError("can't start new thread")), "too little", "too little"),
        (ImportError("no such module"), None, None),
        (RuntimeError("a bug"), None, None),
        (OSError(2, "gone"), "too little", None),
    ],
)
def test_lack_of_memory_is_one_sentence_and_another_error_is_none(
    error: Exception, short: str | None, told: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(address_space, "shortage", lambda: short)

    found = address_space.told(error)

    assert (found or "").startswith(told or "")
    assert (found is None) == (told is None)


def test_the_sentence_of_a_lack_of_memory_ends_a_command_with_2(monkeypatch: pytest.MonkeyPatch) -> None:
    @cli.main.command()
    def broken() -> None:
        raise MemoryError

    monkeypatch.setitem(cli.main.commands, "broken", cli.main.commands.pop("broken"))

    done = call("broken")

    assert done.code == 2
    assert done.err.startswith("inflight: no memory is left")
    assert done.err.endswith("Finished rows are kept.\n")
