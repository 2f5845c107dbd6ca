"""Names say what a value is: these words do not, bounds begin with MAX_ and MIN_, and a class has its name alone."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
EMPTY = {"found", "told", "own", "one", "kept", "shown", "said"}
FILES = sorted(path for room in ("bench", "fake_server", "tools") for path in (ROOT / room).rglob("*.py"))


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each function, argument and variable; fields are words of rows and files."""
    fields = {id(node.target) for of in ast.walk(tree) if isinstance(of, ast.ClassDef)
              for node in of.body if isinstance(node, ast.AnnAssign)}  # fmt: skip
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.Name(id=name, ctx=ast.Store()) if id(node) not in fields:
                yield node.lineno, name


def test_names_say_what_a_value_is() -> None:
    every = ((path, *name) for path in FILES for name in names(ast.parse(path.read_text("utf-8"))))
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path, line, name in every
        if name in EMPTY or name.startswith(("MOST_", "LEAST_"))
    ]

    assert wrong == []


def test_no_class_name_is_in_two_modules() -> None:
    """Whoever searches for a class, or reads its name in a message, meets one."""
    modules: dict[str, set[str]] = {}
    for path in (ROOT / "bench").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                modules.setdefault(node.name, set()).add(str(path.relative_to(ROOT)))

    assert {name: sorted(paths) for name, paths in modules.items() if len(paths) > 1} == {}
