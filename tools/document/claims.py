"""The verdicts on claims, for docs/claims.md: a summary, and a section for each claim."""

from pathlib import Path

from inflight.bench.present.markdown import escaped, row
from inflight.bench.studies.claims import show
from inflight.bench.studies.claims.verdicts import ClaimsError, Report, Verdict, load
from tools.document.stored import DocumentError, joined, newest


def part(runs: Path, _beside: Path) -> str:
    """Return the page of the newest run."""
    return page(report(newest(runs, "claims").folder))


def page(found: Report) -> str:
    """Return how many claims hold, a summary of the verdicts, and a section for each claim.

    A section says what was claimed, where, how it was tested, the verdict, and its explanation.
    """
    made = " ".join([show.provenance(found), *map(escaped, show.section(found).notes)])
    return joined(f"**{escaped(show.title(found))}.**", made, summary(found), *map(_section, found.claims))


def report(folder: Path) -> Report:
    """Return the verdicts that a run came to. Raises DocumentError."""
    try:
        return load(folder)
    except ClaimsError as error:
        raise DocumentError(str(error)) from error


def summary(found: Report) -> str:
    """Return a table of the claims, and one of the demonstrations: each with its verdict."""
    tables = [
        joined(
            f"{heading}:" if number else "", "\n".join(["| claim | verdict |", "|---|---|", *map(_in_summary, some)])
        )
        for number, (heading, some) in enumerate(show.parts(found).items())
        if some
    ]
    return joined(*tables)


def _in_summary(one: Verdict) -> str:
    return row([f"[{escaped(one.id)}](#{one.id}): {escaped(one.claim)}", escaped(show.word(one))])


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
