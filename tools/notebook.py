"""Write docs/examples/notebook.ipynb from notebook.py, whose cells begin with ``# %%``.

    python -m tools.notebook [--check]

``--check`` writes nothing; the exit code is 1 when the file is not up to date. The format is nbformat 4.5
(https://nbformat.readthedocs.io/en/latest/format_description.html). Cells have no output.
"""

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).parent.parent / "docs" / "examples" / "notebook.py"
_CELL = re.compile(r"^# %%(?P<kind> \[markdown\])?\n(?P<text>.*?)(?=^# %%|\Z)", re.MULTILINE | re.DOTALL)


def main(arguments: Sequence[str]) -> int:
    """Write the notebook, or with ``--check`` say whether it is up to date; return the exit code."""
    path = SOURCE.with_suffix(".ipynb")
    text = notebook(SOURCE.read_text(encoding="utf-8"))
    if "--check" not in arguments:
        path.write_text(text, encoding="utf-8")
    elif path.read_text(encoding="utf-8") != text:
        print(f"{path.name} is not up to date; run `python -m tools.notebook`", file=sys.stderr)
        return 1
    return 0


def notebook(script: str) -> str:
    """Return a script of cells as a notebook."""
    cells = [_cell(number, match) for number, match in enumerate(_CELL.finditer(script), 1)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def _cell(number: int, match: re.Match[str]) -> dict[str, Any]:
    source = match["text"].strip()
    cell = {"id": f"cell-{number}", "metadata": {}}
    if match["kind"]:
        prose = [line.removeprefix("#").removeprefix(" ") for line in source.splitlines(keepends=True)]
        return cell | {"cell_type": "markdown", "source": prose}
    code = source.splitlines(keepends=True)
    return cell | {"cell_type": "code", "execution_count": None, "outputs": [], "source": code}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
