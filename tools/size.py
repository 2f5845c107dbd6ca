"""Print the size of each room in tokens and tokens per code line, as docs/architecture.md has them.

Comments, docstrings, imports, line ends and blank lines are free, so a line break costs nothing and an idea does.

    python -m tools.size
"""

import ast
import math
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
ALLOWANCE = 1.03
"""The budget of a room, when it is set: what is there, and 3 %."""
FREE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
"""What layout and comments consist of."""
FSTRING_START, FSTRING_END = (getattr(tokenize, name, -1) for name in ("FSTRING_START", "FSTRING_END"))
"""The ends of an f-string, which is one token before Python 3.12, and is counted as one."""


class Size(NamedTuple):
    """How much code there is."""

    tokens: int
    lines: int
    """Lines with a token that counts."""
    files: int = 1

    @property
    def tokens_per_line(self) -> float:
        """The density: higher is harder to read."""
        return self.tokens / max(1, self.lines)


def size_of(path: Path) -> Size:
    """Return the size of a file."""
    free_lines = set(find_free_lines(ast.parse(path.read_text(encoding="utf-8"))))
    lines: set[int] = set()
    tokens = depth = 0
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            depth -= token.type == FSTRING_END
            if token.type in FREE or token.start[0] in free_lines:
                continue
            lines.update(range(token.start[0], token.end[0] + 1))
            tokens += depth == 0 and token.type != FSTRING_END
            depth += token.type == FSTRING_START
    return Size(tokens, len(lines))


def find_free_lines(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of docstrings, those of fields as well, and of imports."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())) | ast.Import() | ast.ImportFrom():
                yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def size_in(folder: Path) -> Size:
    """Return the size of all files below a folder."""
    sizes = [size_of(path) for path in folder.rglob("*.py")]
    return Size(sum(size.tokens for size in sizes), sum(size.lines for size in sizes), len(sizes))


def sizes_of_rooms() -> dict[str, Size]:
    """Return the size of each package of ``bench/``, of the whole, and of the other folders with a budget."""
    packages = sorted(path.parent.name for path in (ROOT / "bench").glob("*/__init__.py"))
    names = [*(f"bench/{name}" for name in packages), "bench", "conformance", "tools", "tests"]
    return {name: size_in(ROOT / name) for name in names}


def read_budgets() -> dict[str, tuple[int, float]]:
    """Return the budgets of docs/architecture.md: maximum tokens, and tokens per line."""
    rows = re.findall(r"^\| `([\w/]+)/` \| ([\d,]+) \| ([\d.]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return {room: (int(tokens.replace(",", "")), float(density)) for room, tokens, density in rows}


def main() -> None:
    """Print the table of budgets that the rooms would have if they were set now."""
    for room, size in sizes_of_rooms().items():
        budget = round(size.tokens * ALLOWANCE / 100) * 100
        density = math.ceil(size.tokens_per_line * 10) / 10
        print(f"| `{room}/` | {budget:,} | {density} |  {size.tokens:,} in {size.files} files")


if __name__ == "__main__":
    main()
