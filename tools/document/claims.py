"""The page of all claims, and the table of the README."""

from collections.abc import Callable, Sequence
from pathlib import Path

from inflight.bench.present.markdown import escaped, row
from inflight.bench.studies.claims import show
from inflight.bench.studies.claims.verdicts import ClaimsError, Report, Verdict, load
from tools.document.stored import DocumentError, newest


def part(runs: Path, _beside: Path) -> str:
    """Return what was claimed, where, how it was tested, verdict and explanation, for each claim."""
    return page(report(newest(runs, "claims").folder))


def page(found: Report) -> str:
    """Return a summary of all verdicts, and a section for each."""
    summary = _table(found, ("claim", "verdict"), _in_summary)
    made = " ".join([show.provenance(found), *map(escaped, show.section(found).notes)])
    return "\n\n".join([made, summary, *map(_section, found.claims)])


def table(found: Report) -> str:
    """Return short tables for the README: claim, published figure, verdict, figures."""
    return _table(found, ("claim", "published", "verdict", "what was measured"), _in_readme)


def report(folder: Path) -> Report:
    """Return the verdicts that a run came to. Raises DocumentError."""
    try:
        return load(folder)
    except ClaimsError as error:
        raise DocumentError(str(error)) from error


def _table(found: Report, heads: Sequence[str], line: Callable[[Verdict], list[str]]) -> str:
    lines: list[str] = []
    for heading, some in show.parts(found).items():
        if some:
            lines += ["", f"{heading}:"] if lines else []
            lines += [
                *([""] if lines else []),
                row(heads),
                f"|{'---|' * len(heads)}",
                *(row(line(one)) for one in some),
            ]
    return "\n".join(lines)


def _in_summary(one: Verdict) -> list[str]:
    return [f"[{escaped(one.id)}](#{one.id}): {escaped(one.claim)}", escaped(show.word(one))]


def _in_readme(one: Verdict) -> list[str]:
    link = f"[{escaped(show.word(one))}](docs/claims.md#{one.id})"
    return [escaped(one.claim), escaped(one.published), link, escaped(one.figures)]


def _section(one: Verdict) -> str:
    parts = [
        f"## {escaped(one.id)}",
        f"**{escaped(one.claim)}**",
        f"**{escaped(show.word(one))}**: {escaped(one.figures)}",
        escaped(one.explanation),
        "\n".join(f"- {name}: {escaped(text)}" for name, text in show.facts(one).items()),
    ]
    return "\n\n".join([*parts, *(f"{name}:\n\n{_block(text)}" for name, text in one.traces.items())])


def _block(text: str) -> str:
    """Return text as an indented block, whatever it contains."""
    lines = ("".join(char if char.isprintable() else "?" for char in line) for line in text.splitlines())
    return "\n".join(f"    {line}".rstrip() for line in lines)
