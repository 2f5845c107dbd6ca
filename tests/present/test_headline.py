"""The section of throughput as Markdown, with its provenance."""

from typing import Any

from inflight.bench.report import markdown
from inflight.bench.rows.files import Row
from inflight.bench.studies.throughput import show
from tests.made_rows import MACHINE, crawl_row, grid, memory_rows


def headline(rows: list[Row], machine: dict[str, Any]) -> str:
    return markdown.headline(rows, machine, show.sections(rows))


def test_it_has_the_tables_of_the_section_of_throughput() -> None:
    text = headline([*grid(["one"], caps=(100,)), *grid(["client"], caps=(100,), stack="own")], MACHINE)
    lines = [line for line in text.splitlines() if line.startswith("|")]

    assert lines == [
        "| strategy | CPU per page | ratio to one (95 %) |",
        "|---|---:|---:|",
        "| one | 20 µs ±3 % | reference |",
        "| *with an HTTP stack of their own* |  |  |",
        "| client | 20 µs ±3 % | 1.00x (0.99 to 1.01) |",
        "| strategy | no added latency, 100 in flight | 50 ms, 100 in flight |",
        "|---|---:|---:|",
        "| one | 51,000 ±6 % | 2,000 ±6 % |",
        "| *with an HTTP stack of their own* |  |  |",
        "| client | 51,000 ±6 % | 2,000 ±6 % |",
    ]


def test_it_has_the_provenance_of_the_run() -> None:
    text = headline([crawl_row()], MACHINE)

    assert text.startswith(
        "Made by `inflight run quick` on Imaginary 9000, 4 cores, Linux 6.1, CPython 3.11.7, 2026-01-02, inflight 0.1.0"
    )
    assert "- One round: the noise is unknown" in text


def test_paths_of_the_machine_do_not_reach_it() -> None:
    machine = MACHINE | {"command": ["/home/me/bin/inflight", "run", "/home/me/crawl.toml", "--out", "results"]}

    assert "`inflight run crawl.toml --out results`" in headline([crawl_row()], machine)


def test_names_are_shown_as_they_are() -> None:
    text = headline([crawl_row("a|b*c_$x^{2}$<b>&`")], MACHINE)

    assert r"| a\|b\*c\_\$x^\{2\}\$&lt;b&gt;&amp;\` |" in text


def test_unlike_settings_get_tables_of_their_own() -> None:
    text = headline([crawl_row(), crawl_row(connection="per-fetch"), *memory_rows()], MACHINE)

    assert "**Pages per second, keep-alive connections**" in text
    assert "**Pages per second, per-fetch connections**" in text
