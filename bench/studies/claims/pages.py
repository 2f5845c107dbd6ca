"""Verdicts as Markdown: the table beside the rows of a run."""

from collections.abc import Sequence

from bench.present.markdown import code, escaped
from bench.present.provenance import command
from bench.present.section import table_markdown
from bench.present.table import Table
from bench.studies.claims.rules import Verdict
from bench.studies.claims.show import DEMONSTRATIONS, Report, parted


def markdown(report: Report) -> str:
    """Return the table that stands beside a run's rows: every claim with its verdict, figures, region and reason."""
    heads = ("claim", "published", "verdict", "figures", "region", "reason")
    told = ["# Claims", provenance(report)]
    for heading, verdicts in parts(report.verdicts):
        lines = tuple(
            (one.id, one.published, word(one), one.outcome.figures, one.outcome.region, one.outcome.reason)
            for one in verdicts
        )
        told += [heading, table_markdown(Table("", heads, lines))]
    return "\n\n".join(filter(None, [*told, *left_out(report)])) + "\n"


def parts(verdicts: Sequence[Verdict]) -> list[tuple[str, list[Verdict]]]:
    """Return the claims without a heading, and the demonstrations with theirs; none of no verdict."""
    tested, shown = parted(verdicts)
    return [(heading, some) for heading, some in (("", tested), (DEMONSTRATIONS, shown)) if some]


def provenance(report: Report) -> str:
    """Return by which command a report was made, on which machine, and of how many trials."""
    made = command(report.machine)
    by = f"Made by {code(made)} on" if made else "Made on"
    again = f", {report.reused:,} rows of runs before it were used again" if report.reused else ""
    return f"{by} {escaped(report.source)}: {report.measured:,} trials were measured{again}."


def word(one: Verdict) -> str:
    """Return the verdict in a word or two, and whether it is close to the boundary of its rule."""
    return one.word + (" (close)" if one.outcome.close else "")


def left_out(report: Report) -> list[str]:
    """Return a sentence on the claims that were left out, if any were."""
    return [f"Not part of `--quick`: {', '.join(report.left_out)}."] if report.left_out else []
