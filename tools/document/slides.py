"""The parts of docs/slides/lecture.md: a slide with a plot, whose title states its finding, and how it was made."""

from pathlib import Path

from tools.document.stored import DocumentError, Part, folders, joined, newest

LOOKS = "h:510"
"""How Marp sizes a picture: words in its alternative text (https://marpit.marp.app/image-syntax)."""


def race(runs: Path, _beside: Path) -> str:
    """Return the command that replays the newest race."""
    found = folders(runs, "race")
    if not found:
        raise DocumentError(f"no run of race in {runs}")
    return f"```sh\n.venv/bin/inflight race results/reference/{found[-1].name}\n```"


def slide(title: str, experiment: str, plot: str) -> Part:
    """Return the part that shows a plot of the newest run of an experiment."""

    def part(runs: Path, beside: Path) -> str:
        run = newest(runs, experiment)
        picture = run.picture(plot, f"{LOOKS} {plot}", beside)
        if not picture:
            raise DocumentError(f"{run.folder} has no plot {plot}")
        return joined(f"### {title}: figure", picture, f"*{run.provenance}*")

    return part
