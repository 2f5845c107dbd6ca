"""Write into docs/method.md how the ratios of ``quick`` beside a neighbour differ from those without one.

    python -m tools.neighbours [--docs docs/method.md] [--runs results/reference]

The runs are the newest ``quick`` in the folder and the disturbed ones after it, which were measured in the same hour.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from bench.core.stats import Interval
from bench.present.markdown import row
from bench.present.readme import REFERENCE, newest, reference, replaced
from bench.studies.throughput.read import contrasts

MARKS = ("<!-- neighbours: begin -->", "<!-- neighbours: end -->")
ALONE = "none"


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--docs", type=Path, default=Path("docs/method.md"))
    parser.add_argument("--runs", type=Path, default=REFERENCE)
    asked = parser.parse_args(arguments)
    text = asked.docs.read_text(encoding="utf-8")
    asked.docs.write_text(replaced(text, table(asked.runs), asked.docs.name, MARKS), encoding="utf-8")


def table(runs: Path) -> str:
    """Return the ratios of each strategy in the runs, as Markdown; those with a neighbour over those without."""
    alone = newest(runs)
    later = (folder for folder in sorted(runs.glob("*-quick-disturbed")) if folder.name > alone.name)
    found = {ALONE: ratios(alone)} | {str(reference(folder)[1]["neighbour"]): ratios(folder) for folder in later}
    heads = ("CPU per page, ratio to callbacks", *(f"neighbour: {kind}" for kind in found))
    lines = [[name, *(_cell(own.get(name), found[ALONE][name]) for own in found.values())] for name in found[ALONE]]
    return "\n".join([row(heads), f"|{'---|' * len(heads)}", *(row(line) for line in lines)])


def ratios(folder: Path) -> dict[str, Interval]:
    """Return the ratio of each arm to the reference where no latency is added, by the arm's name."""
    found = contrasts(reference(folder)[0])
    return {one.arm: one.interval for one in found if not one.workload["mean_latency_ns"]}


def _cell(found: Interval | None, alone: Interval) -> str:
    if found is None:
        return "-"
    told = f"{found.estimate:.2f} ({found.low:.2f} to {found.high:.2f})"
    off = 100 * (found.estimate / alone.estimate - 1)
    return told if found is alone else f"{told}, {off:+.1f} %"


if __name__ == "__main__":
    main()
