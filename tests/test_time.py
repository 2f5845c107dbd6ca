"""No test depends on the speed of the machine: only tests/patience.py passes time, reads clocks, or tries again."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
WITH_DEFECTS = ROOT / "tests" / "conformance" / "broken.py"
"""Clients with defects, one of which is that they wait."""
FILES = {*ROOT.glob("tests/**/*.py"), *ROOT.glob("conformance/test_*.py")}
FILES -= {ROOT / "tests" / "patience.py", WITH_DEFECTS}
CLOCK = r"\b(time\.(time|monotonic|perf_counter|process_time|thread_time)(_ns)?|datetime\.(now|today|utcnow))\b"
SLEEP = r"\b(time|asyncio|trio|anyio|gevent)\.sleep\b"
OF_A_CHILD = re.compile(rf"{CLOCK}\(|\bsleep[ (][\d.]*[1-9]")
"""The same in the source of a child program, or in a line for a shell."""
WAITS = {
    "wait",
    "join",
    "communicate",
    "settimeout",
    "wait_for",
    "timeout",
    "select",
    "alarm",
    "setitimer",
}
UNCOUNTED = "a failed assertion that does not count"


def is_positive(node: ast.expr) -> bool:
    """Return whether an expression is a number above 0, or the name of one in seconds."""
    if isinstance(node, ast.Name):
        return node.id.endswith("_S") and node.id != "FOREVER_S"
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value > 0


def offences(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the lines that pass time, read a clock, limit a wait in seconds, or try again."""
    nodes = list(ast.walk(tree))
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    full = {
        each.asname or each.name: f"{node.module}.{each.name}" if isinstance(node, ast.ImportFrom) else each.name
        for node in imports
        for each in node.names
    }

    def name_of(node: ast.expr) -> str:
        first, dot, rest = ast.unparse(node).partition(".")
        return full.get(first, first) + dot + rest

    turns = {id(node.func) for node in nodes if isinstance(node, ast.Call) and [*map(ast.unparse, node.args)] == ["0"]}
    for node in nodes:
        match node:
            case ast.Name() | ast.Attribute() if re.search(f"{CLOCK}|{SLEEP}", name_of(node)) and id(node) not in turns:
                yield node.lineno, name_of(node)
            case ast.Attribute(attr="flaky" | "rerun"):
                yield node.lineno, "a repeated attempt"
            case ast.Constant(value=str(text)) if OF_A_CHILD.search(text):
                yield node.lineno, repr(text[:60])
            case ast.Call(func=ast.Attribute() | ast.Name() as func, args=args):
                called = name_of(func).rpartition(".")[2]
                limits = [each.value for each in node.keywords if each.arg == "timeout"]
                if any(map(is_positive, limits + (args[-1:] if called in WAITS else []))):
                    yield node.lineno, f"a limit in seconds of {called}"
                if called == "suppress" and "AssertionError" in map(ast.unparse, args):
                    yield node.lineno, UNCOUNTED
                if called == "any" and "for _ in range" in ast.unparse(node):
                    yield node.lineno, "a repeated attempt"
            case ast.ExceptHandler(type=ast.expr() as caught) if "AssertionError" in ast.unparse(caught):
                yield node.lineno, UNCOUNTED
            case ast.For(target=ast.Name(id="_"), iter=ast.Call(args=[ast.Constant()])):
                if any(isinstance(each, ast.Break | ast.Return) for each in ast.walk(node)):
                    yield node.lineno, "a repeated attempt"


def test_only_the_helper_of_waits_passes_time_reads_clocks_or_tries_again() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for path in sorted(FILES)
        for line, what in sorted(set(offences(ast.parse(path.read_text("utf-8")))))
    ]

    assert not found, "\n".join(["wait with tests/patience.py:", *found])
