"""The size of ``bench/``, in tokens of Python: at most what docs/architecture.md gives it. The budget only shrinks."""

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## Budget")[2]
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
STARTS, ENDS = (getattr(tokenize, name, -1) for name in ("FSTRING_START", "FSTRING_END"))
"""The ends of an f-string, which is one token before Python 3.12, and is counted as one."""


def free_lines(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of docstrings, those of fields as well, and of imports."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())) | ast.Import() | ast.ImportFrom():
                yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def tokens_of(path: Path) -> int:
    """Return the number of tokens of a file without layout, comments, docstrings and imports."""
    free = set(free_lines(ast.parse(path.read_text(encoding="utf-8"))))
    count = depth = 0
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            depth -= token.type == ENDS
            count += depth == 0 and token.type not in {*FREE, ENDS} and token.start[0] not in free
            depth += token.type == STARTS
    return count


def tokens_in(folder: Path) -> int:
    return sum(map(tokens_of, sorted(folder.rglob("*.py"))))


def test_bench_keeps_within_its_budget() -> None:
    found = re.search(r"at most ([\d,]+) tokens", PAGE)
    assert found is not None
    rooms = {path.name: tokens_in(path) for path in (ROOT / "bench").iterdir() if (path / "__init__.py").exists()}
    for room, tokens in sorted(rooms.items(), key=lambda item: -item[1]):
        print(f"bench/{room:<10} {tokens:8,}")

    assert sum(rooms.values()) < tokens_in(ROOT / "bench") <= int(found[1].replace(",", ""))


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ('"""What it is."""\nimport os\n\n# why\n', 0),
        ("x = 1\n", 3),
        ("x = (\n    1,\n)\n", 6),
        ('def f() -> int:\n    """Return it."""\n    return 1\n', 9),
        ('class A:\n    x: int\n    """What x is."""\n', 6),
        ('x = f"{a + b!r:>{width}} {f(1)}"\n', 3),
    ],
)
def test_ideas_are_counted_and_layout_is_free(text: str, tokens: int, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(text, encoding="utf-8")

    assert tokens_of(tmp_path / "a.py") == tokens
