"""The headline table: one line a strategy, for a terminal of 100 columns or for Markdown."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, TextIO

from bench.analyse import cells as c
from bench.analyse.cells import Figure
from bench.analyse.headline import Column, Line, Table, tables
from bench.present import map_table, notes, units, words
from bench.present.attribution import attribution_lines
from bench.present.memory_table import memory_text
from bench.present.summary import summary_json
from bench.rows import Row

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["print_summary", "summary_json", "summary_table"]

WIDTH = 100
GAP = "  "
LEAST_NAME = 13
HEADS = ("strategy", "added latency", "in flight")
RULE = "─"


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in one place of the table, and whether it is dimmed, or red."""

    text: str
    style: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """Columns under one head of two lines; each column has a label of its own."""

    head: tuple[str, str]
    labels: tuple[str, ...]
    cells: tuple[tuple[Cell, ...], ...]
    """One tuple a line of the table, as long as ``labels``."""

    @property
    def widths(self) -> list[int]:
        """The columns' widths; the first one is wide enough for the head to fit over them all."""
        widths = [
            max(len(label) + 1, *(len(line[n].text) for line in self.cells)) for n, label in enumerate(self.labels)
        ]
        missing = max(map(len, self.head)) + 1 - sum(widths) - len(GAP) * (len(widths) - 1)
        return [widths[0] + max(0, missing), *widths[1:]]


def summary_table(rows: Sequence[Row], width: int = WIDTH) -> "Text":
    """Return the headline table of a run, a table for each setting, with its sentences; at most ``width`` wide.

    Below it, or in its place where nothing was timed, stand the tables of memory in layers, limits, probes and open
    loops.
    """
    from rich.text import Text

    text, below = Text(), memory_text(rows, width)
    decided = map_table.of_rows(rows)
    if decided is not None:
        text.append(map_table.text(decided, width) + "\n")
    timed = decided is None and c.is_timed(rows)
    found = tables(c.crawled(rows)) if timed or not (below or decided) else []
    for table in found:
        if title := setting_title(table) if len(found) > 1 else "":
            text.append(title + "\n", "bold")
        for line in _table_lines(table, width):
            text.append_text(line).append("\n")
        _add_notes(text, notes.about_table(table), width, "dim")
        text.append("\n")
    if found or decided or not below or not any(row.valid for row in rows):
        _add_notes(text, notes.about_rows(c.crawled(rows) if found else rows), width, "")
        text.append("\n")
    if below:
        text.append_text(below).append("\n")
    for words_of_it in attribution_lines(rows):
        text.append(words_of_it + "\n", "" if words_of_it.startswith(" ") else "bold")
    _add_notes(text, notes.about_red(rows), width, "red")
    text.rstrip()
    return text


def print_summary(rows: Sequence[Row], file: TextIO) -> None:
    """Print the headline table; with colour on a terminal only, and never where NO_COLOR is set."""
    from rich.console import Console

    console = Console(file=file, highlight=False, soft_wrap=True)
    width = min(WIDTH, console.width) if file.isatty() else WIDTH
    console.print(summary_table(rows, width))


def setting_title(table: Table) -> str:
    """Return what a table's trials share and other tables' do not: the use of connections, and of the site."""
    if table.setting is None:
        return ""
    differing = [f"{key} {value}" for key, value in sorted(table.differs.items())]
    return ", ".join([f"{table.setting.connection} connections", *differing])


def entry_text(entry: Figure | str, column: Column) -> str:
    """Write an entry: a figure, with a mark if it is from red trials only; or the word for why there is none."""
    if isinstance(entry, str):
        return entry or "-"
    return words.figure(entry, column.measure) + ("" if entry.valid else "✗")


def trials_text(line: Line) -> str:
    """Write how many trials there were, or how many of them are red."""
    return f"{line.red}/{line.trials} red" if line.red else f"{line.trials} ok"


def _table_lines(table: Table, width: int) -> Iterator["Text"]:
    from rich.text import Text

    blocks = _blocks(table)
    room = width - sum(sum(block.widths) + len(GAP) * len(block.labels) for block in blocks)
    names = [words.plain(line.strategy, max(LEAST_NAME, room)) for line in table.lines]
    first = max(*map(len, HEADS), *map(len, names))
    for n in (0, 1):
        yield _joined([Text(f"{HEADS[n]:{first}}"), *(_head(block, n) for block in blocks)], "bold")
    yield _joined([Text(f"{HEADS[2]:{first}}"), *(_labels(block) for block in blocks)], "bold")
    was_shared = None
    for number, (line, name) in enumerate(zip(table.lines, names, strict=True)):
        if was_shared is not (shared := line.stack == "shared"):
            yield Text(_rule("" if shared else "with an HTTP stack of their own", width), "dim")
        was_shared = shared
        yield _joined([Text(f"{name:{first}}"), *(_cells(block, number) for block in blocks)])


def _blocks(table: Table) -> list[Block]:
    blocks = []
    numbered = list(enumerate(table.columns))
    for (measure, latency), group in groupby(numbered, key=lambda item: (item[1].measure, item[1].latency)):
        columns = list(group)
        what = "CPU per page" if measure == "cpu_per_page_ns" else "pages/s"
        blocks.append(
            Block(
                (what, "0 ms" if latency == "0" else units.latency(latency)),
                tuple(units.count(column.in_flight) for _, column in columns),
                tuple(tuple(_cell(line.entries[n], column) for n, column in columns) for line in table.lines),
            )
        )
    if any(line.memory is not None for line in table.lines):
        cells = tuple((Cell(words.memory(line.memory) + " "),) for line in table.lines)
        blocks.append(Block(("user memory", "per fetch"), ("in flight",), cells))
    cells = tuple((Cell(trials_text(line), "red" if line.red else ""),) for line in table.lines)
    return [*blocks, Block(("", ""), ("trials",), cells)]


def _cell(entry: Figure | str, column: Column) -> Cell:
    """Return the entry; one column is kept free for the mark, so that the digits stand below each other."""
    text = entry_text(entry, column)
    if isinstance(entry, Figure) and entry.valid:
        return Cell(text + " ")
    return Cell(text, "dim red") if text.endswith("✗") else Cell(text + " ", "dim")


def _head(block: Block, n: int) -> "Text":
    from rich.text import Text

    width = sum(block.widths) + len(GAP) * (len(block.labels) - 1)
    return Text(f"{block.head[n] + ' ':>{width}}")


def _labels(block: Block) -> "Text":
    from rich.text import Text

    last = "trials" in block.labels
    return Text(
        GAP.join(f"{label + ('' if last else ' '):>{w}}" for label, w in zip(block.labels, block.widths, strict=True))
    )


def _cells(block: Block, number: int) -> "Text":
    from rich.text import Text

    texts = [Text(f"{cell.text:>{w}}", cell.style) for cell, w in zip(block.cells[number], block.widths, strict=True)]
    return Text(GAP).join(texts)


def _joined(parts: Sequence["Text"], style: str = "") -> "Text":
    from rich.text import Text

    line = Text(GAP).join(parts)
    line.stylize(style)
    return line


def _rule(title: str, width: int) -> str:
    return f"{RULE * 3} {title} ".ljust(width, RULE) if title else RULE * width


def _add_notes(text: "Text", sentences: Sequence[str], width: int, style: str) -> None:
    import textwrap

    for sentence in sentences:
        text.append("\n".join(textwrap.wrap(sentence, width, subsequent_indent="  ")) + "\n", style)
