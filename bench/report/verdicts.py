"""The verdicts of a page: claims, a comparison, a self-test, two stored runs; whatever the folder holds."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.core import units
from bench.core.rows import Row
from bench.present import words
from bench.present.markup import block, folded, listed, paragraph, table
from bench.present.section import Section, html
from bench.present.table import Cell, Table
from bench.report.files import Extras
from bench.studies.claims import pages
from bench.studies.claims import show as claims
from bench.studies.claims.show import TRACES, Report, of_claims
from bench.studies.compare import show as compare
from bench.studies.selftest import show as selftest


def verdicts(rows: Sequence[Row], extras: Extras) -> str:
    """Return what was decided, by what the folder holds; nothing where nothing was."""
    parts = [
        "" if extras.claims is None else _claims(extras.claims),
        "" if extras.comparison is None else _comparison(extras.comparison),
        "" if extras.selftest is None else _told("Self-test", selftest.sections(extras.selftest)),
        "" if extras.selftest is not None else _told("Comparison", compare.sections(rows, extras.verdict or {})),
    ]
    return "".join(parts)


def _told(heading: str, found: Sequence[Section]) -> str:
    return f"<h3>{heading}</h3>{''.join(map(html, found))}" if found else ""


def _claims(report: Report) -> str:
    heads = ("claim", "verdict", "what was found here", "published")
    tested, shown = claims.parted(sorted(report.verdicts, key=lambda one: one.order))
    lines = tuple(
        (
            Cell(one.claim, one.id),
            pages.word(one),
            one.outcome.figures,
            one.published or "-",
        )
        for one in (*tested, *shown)
    )
    caption = of_claims((one.word for one in tested), len(shown))
    told = [f"Close: near the boundary of its rule; another run may say otherwise. {_reused(report)}"]
    told += ["Shown: a demonstration, true by construction; its figures show how."] if shown else []
    told += [f"Not part of --quick: {', '.join(report.left_out)}."] if report.left_out else []
    parts = ["<h3>Claims</h3>", table(Table(caption, heads, lines, tuple(told)))]
    return "".join([*parts, *(_explained(one) for one in (*tested, *shown))])


def _reused(report: Report) -> str:
    again = f", and {units.count(report.reused)} rows of runs before it were used again" if report.reused else ""
    return f"{units.count(report.measured)} trials were measured in this run{again}."


def _explained(one: Any) -> str:
    outcome = one.outcome
    facts = (("Source", one.source), ("Tested", one.about), ("Region", outcome.region), ("Rule", outcome.reason))
    inside = paragraph(claims.explained(one)) + listed(f"{name}: {told}" for name, told in facts)
    traces = [str(outcome.values[name]) for name in TRACES if outcome.values.get(name)]
    return folded(f"{one.id}: {one.word}", inside + "".join(map(block, traces)))


def _comparison(found: Mapping[str, Any]) -> str:
    """Show what ``inflight compare`` left here."""
    sides = (found.get("base"), found.get("head"))
    names = [str(side.get("name") or side.get("path") or "") for side in sides if isinstance(side, Mapping)]
    told = [str(found.get(key) or "") for key in ("headline", "why")]
    between = f"Between {words.listed(names)}." if len(names) == 2 and all(names) else ""
    return "<h3>Comparison of stored runs</h3>" + listed(filter(None, [*told, between]))
