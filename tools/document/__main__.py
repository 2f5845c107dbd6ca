"""Write what README.md and docs/ quote and show of the stored runs.

    python -m tools.document [--check]

Plots are drawn again first. ``--check`` writes nothing and draws nothing; its exit code is 1 when a file is not up to
date.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from inflight.bench.rows.files import RowsError
from tools.document import (
    claims,
    clients,
    compare,
    decision_map,
    decisions,
    example,
    findings,
    first_run,
    glossary,
    interpreters,
    memory,
    memory_plot,
    models,
    neighbours,
    plots,
    race,
    readme,
    scale,
    simulator,
    slides,
    verdict,
)
from tools.document.stored import REFERENCE, DocumentError, Part, replaced

PAGES: Mapping[str, Mapping[str, Part]] = {
    "README.md": {
        "race": readme.moving_picture,
        "findings": findings.part,
        "which": findings.which,
        "models": readme.models,
        "further": readme.further,
    },
    "docs/first-run.md": {"quick": first_run.part},
    "docs/glossary.md": {"terms": glossary.part},
    "docs/models.md": {"models": models.part},
    "docs/clients.md": {"clients": clients.part},
    "docs/memory.md": {"ladder": memory.ladder, "layers": memory.layers},
    "docs/interpreters.md": {"interpreters": interpreters.interpreters, "scaling": interpreters.scaling},
    "docs/decisions.md": {"map": decision_map.part},
    "docs/compare.md": {"selftest": compare.part},
    "docs/scale.md": {"c100k": scale.c100k, "c1m": scale.c1m},
    "docs/method.md": {"example": example.part},
    "docs/verdicts.md": {"verdict": verdict.part, "decisions": decisions.part},
    "docs/method-notes.md": {"neighbours": neighbours.part},
    "docs/claims.md": {"claims": claims.part},
    "docs/simulator.md": {"simulator": simulator.part},
    "docs/slides/lecture.md": {
        "race": slides.race,
        "waiting": slides.slide("1. Waiting together", "quick", "throughput"),
        "overhead": slides.slide("2. What overhead costs", "quick", "cpu"),
        "memory": slides.slide("3. What a thread costs", "memory", "layers"),
        "cores": slides.slide("6. When it does not help", "scaling", "scaling"),
    },
}
"""Each part by its file and the name of its marks."""
FILES: Mapping[str, Callable[[Path], str]] = {
    "docs/pages/simulator.html": simulator.whole,
    race.PICTURE: race.picture,
}
"""Files that are written as a whole; each asks for the folder of runs."""


def main() -> int:
    """Do what the command line says; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is not up to date")
    asked = parser.parse_args()
    try:
        if not asked.check:
            plots.renew_all(REFERENCE)
            memory_plot.save(REFERENCE, Path())
        code = document(Path(), is_check=asked.check)
        if not asked.check:
            plots.drop_unshown(REFERENCE, Path())
        return code
    except (DocumentError, RowsError) as error:
        print(error, file=sys.stderr)
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
    return 1


def document(root: Path, *, is_check: bool) -> int:
    """Write every page that is not as it should be, or say so; return the exit code."""
    stale = [(path, text) for path, old, text in pages(root) if old != text]
    for path, text in stale:
        if is_check:
            print(f"{path} is not up to date; run `make readme`", file=sys.stderr)
        else:
            path.write_text(text, encoding="utf-8")
    return 1 if stale and is_check else 0


def pages(root: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield each page and picture below a folder, with its text and what it should be."""
    for name, parts in PAGES.items():
        path = root / name
        old = path.read_text(encoding="utf-8")
        try:
            yield path, old, renewed(old, parts, root / REFERENCE, path.parent)
        except DocumentError as error:
            raise DocumentError(f"{name}: {error}") from error
    for name, whole in FILES.items():
        path = root / name
        yield path, path.read_text(encoding="utf-8") if path.is_file() else "", whole(root / REFERENCE)


def renewed(text: str, parts: Mapping[str, Part], runs: Path, beside: Path) -> str:
    """Return the text of a file with each of its parts written again. Raises DocumentError."""
    for mark, part in parts.items():
        text = replaced(text, mark, part(runs, beside))
    return text


if __name__ == "__main__":
    sys.exit(main())
