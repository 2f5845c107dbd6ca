"""Mutations: small planted bugs, found in the syntax of a file and drawn by the text of their statements. Pure.

A mutation replaces a part of the text, so that all other lines stay where they are. Its rank is a hash of its
statement, not of a file name or a line number: when code moves, the same mutants are drawn.
"""

import ast
import copy
import hashlib
import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

COMPARISONS = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}  # fmt: skip
ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
SKIPPED_FIELDS = {"annotation", "returns", "msg", "type_params"}
SKIPPED_NODES = (ast.JoinedStr, ast.Raise)
MAX_NUMBER = 100  # larger ones are sizes and times, where one more makes no difference
NOT_DROPPED = {"print", "echo", "warn"}
NOT_SWAPPED = {"min", "max", "cast", "TypeVar", "NewType", "kill", "killpg"}  # same result, types, other processes


@dataclass(frozen=True, slots=True)
class Mutation:
    """A place for a mutation: bytes ``start`` to ``end`` of a file become ``after``."""

    file: str
    line: int
    start: int
    end: int
    kind: str
    statement: str
    function: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """A drawn site; its rank does not depend on where the code is."""

    room: str
    rank: str
    site: Mutation


def sites(source: str, file: str) -> Iterator[Mutation]:
    """Yield every place of a module where a mutation is possible."""
    text = source.encode()
    line_starts = [0, *itertools.accumulate(len(line) for line in text.splitlines(keepends=True))]

    def span(node: Any) -> tuple[int, int]:
        return (line_starts[node.lineno - 1] + node.col_offset, line_starts[node.end_lineno - 1] + node.end_col_offset)

    def walk(node: ast.AST, statement: str, function: str) -> Iterator[Mutation]:
        for kind, changed, after in mutations(node, text, span):
            start, end = span(changed)
            before = text[start:end].decode()
            yield Mutation(file, changed.lineno, start, end, kind, statement, function, before, after)
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if name in SKIPPED_FIELDS or not isinstance(child, ast.AST) or isinstance(child, SKIPPED_NODES):
                    continue
                if isinstance(child, ast.If) and ast.unparse(child.test) in {"TYPE_CHECKING", "__name__ == '__main__'"}:
                    continue
                inner = f"{function}.{child.name}" if isinstance(child, ast.FunctionDef | ast.ClassDef) else function
                yield from walk(child, head(child) if isinstance(child, ast.stmt) else statement, inner)

    return walk(ast.parse(source), "", "")


def head(statement: ast.stmt) -> str:
    """Return the code of a statement, without the statements in it and without comments."""
    alone = copy.copy(statement)
    for name in {"body", "orelse", "handlers", "finalbody", "cases"} & set(statement._fields):
        setattr(alone, name, [])
    return ast.unparse(alone)


def mutations(node: Any, text: bytes, span: Any) -> Iterator[tuple[str, Any, str]]:
    """Yield (kind, node that is replaced, its new code) for the mutations at one node."""

    def code(start: int, end: int) -> str:
        return text[start:end].decode()

    if isinstance(node, ast.Compare):
        start, end = span(node)
        for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            old, new = COMPARISONS[type(operator)]
            sign = text.find(old.encode(), span(left)[1], span(right)[0])
            if sign >= 0:
                yield "comparison", node, code(start, sign) + new + code(sign + len(old), end)
    elif isinstance(node, ast.Constant) and type(node.value) is int and node.value < MAX_NUMBER:
        yield "plus one", node, str(node.value + 1)
        yield "minus one", node, str(node.value - 1)
    elif isinstance(node, ast.Call) and len(node.args) > 1:
        first, other = node.args[:2]
        starred = isinstance(first, ast.Starred) or isinstance(other, ast.Starred)
        if not starred and ast.dump(first) != ast.dump(other) and called(node) not in NOT_SWAPPED:
            (start, end), (a, b), (c, d) = span(node), span(first), span(other)
            yield "swapped arguments", node, code(start, a) + code(c, d) + code(b, c) + code(a, b) + code(d, end)
    elif isinstance(node, ast.Expr):
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(call, ast.Call) and called(call) not in NOT_DROPPED:
            yield "dropped call", node, "pass" + "\n" * code(*span(node)).count("\n")
    conditions: list[Any] = []
    if isinstance(node, ast.comprehension):
        conditions = node.ifs
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        conditions = [node.test]
    for test in conditions:
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            yield "negated condition", test, f"({code(*span(test.operand))})"
            continue
        is_single = isinstance(test, ast.Compare) and len(test.ops) == 1
        is_negated_by_its_sign = is_single and not isinstance(test.ops[0], ORDERED)  # the mutant of kind "comparison"
        if not isinstance(test, ast.Constant) and not is_negated_by_its_sign:
            yield "negated condition", test, f"not ({code(*span(test))})"


def called(call: ast.Call) -> str:
    """Return the last part of the name of what is called."""
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def ranked(room: str, sources: Mapping[str, str], seed: int) -> list[Mutant]:
    """Return all mutants of a room, the first to be drawn first: sources are texts by file name."""
    every = [site for file, source in sources.items() for site in sites(source, file)]
    # Equal statements are numbered by what least depends on the file that they are in.
    every.sort(key=lambda site: (site.kind, site.statement, site.function, site.file, site.start, site.after))
    seen: Counter[tuple[str, str]] = Counter()
    drawn = []
    for site in every:
        seen[site.kind, site.statement] += 1
        key = json.dumps([seed, site.kind, site.statement, seen[site.kind, site.statement]])
        drawn.append(Mutant(room, hashlib.sha256(key.encode()).hexdigest()[:16], site))
    return sorted(drawn, key=lambda mutant: mutant.rank)


def mutated(source: bytes, site: Mutation) -> bytes:
    """Return a source with one mutation."""
    return source[: site.start] + site.after.encode() + source[site.end :]


def is_python(source: bytes) -> bool:
    """Return whether a mutated source can be compiled."""
    try:
        compile(source, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True
