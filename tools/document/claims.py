"""The page of all claims, and the table of the README."""

from collections.abc import Sequence
from pathlib import Path

from bench.present.markdown import escaped, row
from bench.studies.claims import pages, show
from bench.studies.claims.rules import Verdict
from bench.studies.claims.show import TRACES, Report, explained
from tools.document.stored import DocumentError, newest


def part(runs: Path, _beside: Path) -> str:
    """Return what was claimed, where, how it was tested, verdict and explanation, for each claim."""
    return page(report(newest(runs, "claims").folder))


def page(found: Report) -> str:
    """Return a summary of all verdicts, and a section for each."""
    verdicts = found.verdicts
    return "\n\n".join([pages.provenance(found), _summary(verdicts), *map(_section, verdicts), *pages.left_out(found)])


def table(verdicts: Sequence[Verdict]) -> str:
    """Return short tables for the README: claim, published figure, verdict, figures."""
    heads = ("claim", "published", "verdict", "what was measured")
    lines: list[str] = []
    for heading, some in pages.parts(sorted(verdicts, key=lambda verdict: verdict.order)):
        lines += [*(["", heading, ""] if heading else []), row(heads), _rule(heads)]
        for one in some:
            cells = [escaped(cell) for cell in (one.claim, one.published, pages.word(one), one.outcome.figures)]
            lines.append(row([cells[0], cells[1], f"[{cells[2]}](docs/claims.md#{one.id})", cells[3]]))
    return "\n".join(lines)


def report(folder: Path) -> Report:
    """Return the verdicts that a run came to. Raises DocumentError."""
    try:
        return show.load(folder)
    except show.ClaimsError as error:
        raise DocumentError(str(error)) from error


def _summary(verdicts: Sequence[Verdict]) -> str:
    heads = ("claim", "verdict")
    lines: list[str] = []
    for heading, some in pages.parts(verdicts):
        lines += [*(["", heading, ""] if heading else []), row(heads), _rule(heads)]
        lines += [
            f"| [{escaped(one.id)}](#{one.id}): {escaped(one.claim)} | {escaped(pages.word(one))} |" for one in some
        ]
    return "\n".join(lines)


def _section(one: Verdict) -> str:
    outcome = one.outcome
    facts = {
        **({"Demonstration": "true by construction; the figures show how"} if one.kind == "demonstration" else {}),
        "Source": one.source,
        "Published": one.published,
        "Tested": one.about,
        "Region": outcome.region,
        "Rule": outcome.reason,
    }
    parts = [
        f"## {escaped(one.id)}",
        f"**{escaped(one.claim)}**",
        f"**{escaped(pages.word(one))}**: {escaped(outcome.figures)}",
        escaped(explained(one)),
        "\n".join(f"- {name}: {escaped(text)}" for name, text in facts.items()),
    ]
    traces = {name: outcome.values.get(name) for name in TRACES}
    if all(traces.values()):
        parts += [f"{name.partition('_')[0]}:\n\n{_block(str(text))}" for name, text in traces.items()]
    return "\n\n".join(parts)


def _block(text: str) -> str:
    """Return text as an indented block, whatever it contains."""
    lines = ("".join(char if char.isprintable() else "?" for char in line) for line in text.splitlines())
    return "\n".join(f"    {line}".rstrip() for line in lines)


def _rule(heads: Sequence[str]) -> str:
    return f"|{'---|' * len(heads)}"
