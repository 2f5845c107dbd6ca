"""``inflight compare``: read the runs, compare them, print, and write the requested files.

``compare`` computes, ``show`` writes text, ``plot`` draws. ``commands`` is the module of ``inflight run``, whose
functions all commands share. Nothing is measured.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import click

from inflight.bench.ab.decide import EXITS
from inflight.bench.commands.options import JSON, MARKDOWN, PLACE, QUIET, option
from inflight.bench.commands.output import put, say, say_plots
from inflight.bench.commands.run import append_text, keep
from inflight.bench.plan.judge import need
from inflight.bench.rows.files import without_places

JSON_FILE, MARKDOWN_FILE = "compare.json", "compare.md"
"""Names of the files that --out asks for."""


@click.argument("places", nargs=-1, metavar="RUN RUN...", type=PLACE)
@option("--out", note="The files are compare.json, compare.md and compare.png/.svg.")
@JSON
@MARKDOWN
@QUIET
def run(*, places: Sequence[Path], out: Path | None, as_json: bool, markdown: Path | None) -> int:
    """Compare stored runs, the last with the first.

    \b
    inflight compare results/20261120T101500000Z-laptop-quick results/20261121T090000000Z-laptop-quick
    inflight compare results/*-quick --out compared

    Times are ratios to the baseline of the same run, so that a busy hour does not look like a change. `inflight ab`
    detects smaller changes: its sides take turns.
    """
    from inflight.bench.runs import show
    from inflight.bench.runs.compare import compare, read

    need(len(places) >= 2, "give two or more runs: folders of `inflight run`, or files of rows")
    compared = [read(path, without_places(str(path))) for path in places]
    for path, each in zip(places, compared, strict=True):
        need(bool(each.valid), f"{path} has no valid row among {len(each.rows)}: nothing in it can be compared")
    comparison = compare(compared)
    in_common = not comparison.changes.empty
    need(in_common, f"{places[0]} and {places[-1]} have no strategy, workload and baseline in common")
    if as_json:
        put(json.dumps(show.to_json(comparison), allow_nan=False))
        say(show.title(comparison))
    else:
        put(show.text(comparison))
    if out is not None:
        text = json.dumps(show.to_json(comparison), indent=2, allow_nan=False)
        texts = {JSON_FILE: f"{text}\n", MARKDOWN_FILE: show.markdown(comparison)}
        say_plots(keep(out, texts, [show.picture(comparison)]))
        say(f"written: {out / MARKDOWN_FILE}")
    if markdown is not None:
        append_text(markdown, show.markdown(comparison))
    return EXITS[comparison.verdict]
