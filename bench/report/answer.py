"""The answer in a few sentences: when more in flight help, which model, and what a task costs, from these rows. Pure.

Each sentence rests on valid trials of this run alone; the last one says how sure they are.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from bench.core import cells as c
from bench.core import units
from bench.core.cells import of_kind
from bench.core.figures import Slope
from bench.core.rows import Row
from bench.present import notes, words
from bench.studies.clients import table as client_table
from bench.studies.compare import show as compare
from bench.studies.decision_map import show as map_table
from bench.studies.limits import show as limits
from bench.studies.memory import findings as memory
from bench.studies.memory.plot_in_flight import reaches_of
from bench.studies.memory.subjects import BLOCKS, IN_FLIGHT, Subject, subjects
from bench.studies.memory.summary import tops
from bench.studies.open_loop import findings as findings_offered
from bench.studies.open_loop import read as offered
from bench.studies.swarm import findings as findings_swarms
from bench.studies.throughput import answer as answer_crawl
from bench.studies.throughput.scene import Scene, scene

MOST = 6
"""So many sentences at most, the last of which says how sure the others are."""
MOST_LIMITS = 4
MOSTLY = 0.75
"""With fewer valid trials than this share something is wrong with the machine, or with the experiment."""


def answer(rows: Sequence[Row]) -> list[str]:
    """Return three to six sentences of plain text, each with its full stop; fewer where the rows say less."""
    if not any(row.valid for row in rows):
        return [_nothing(rows)]
    every, rows = rows, [row for row in rows if not row.of_comparison]
    seen = scene(rows) if rows else None
    crawls = [text for say in _OF_CRAWLS if seen is not None and (text := say(seen))]
    if (decided := map_table.of_rows(rows)) is not None:
        crawls.insert(0, map_table.finding(decided))
    crawls += findings_swarms.answer(rows)
    memory = list(_of_memory(rows))
    rest = [text for say in _OF_THE_REST if (text := say(every))]
    rest += [] if seen is None else filter(None, [answer_crawl.of_clients(seen)])
    if len(crawls) + len(memory) + len(rest) >= MOST:
        memory = ["; ".join([*memory[:1], *(text[0].lower() + text[1:] for text in memory[1:])])] if memory else []
    sentences = [_sentence(text) for text in (*crawls, *memory, *rest)][: MOST - 1]
    return [*(sentences or ["Nothing here can be compared."]), _sureness(every, seen)]


_OF_CRAWLS = (answer_crawl.of_waiting, answer_crawl.of_models, answer_crawl.of_cpu, answer_crawl.of_work)


def _nothing(rows: Sequence[Row]) -> str:
    """Say that nothing is valid, and the reason that most trials have."""
    if not rows:
        return notes.about_rows(rows)[0]
    reasons = Counter(reason.partition(": ")[0] for row in rows for reason in notes.why_red(row))
    kind, number = reasons.most_common(1)[0]
    example = next(r.partition(": ")[2] for row in rows for r in notes.why_red(row) if r.partition(": ")[0] == kind)
    such = f", such as: {words.plain(example, 120)}" if example else ""
    head = notes.about_rows(rows)[0].removesuffix(".")
    return f"{head}; the most frequent reason is {words.plain(kind, 80)} ({number:,} times{such})."


def _of_memory(rows: Sequence[Row]) -> Iterator[str]:
    """Say what one more thing costs: a building block, a fetch in flight; or how many fetches were held at once."""
    found = [cell for cell in c.cells(rows, "memory") if cell.valid_rows]
    models = [cell for cell in found if cell.stack == "shared"] or found
    settings = c.settings(models)
    own = [cell for cell in models if cell.setting == settings[0]]
    crawls = [row for cell in own for row in cell.rows]
    layered = subjects([*(row for row in rows if row.kind == "block"), *crawls])
    blocks, in_flight = ([s for s in layered if s.group == group] for group in (BLOCKS, IN_FLIGHT))
    texts = [memory.of_layers(some) for some in (blocks, in_flight) if any(map(_has_slope, some))]
    if not any(map(_has_slope, in_flight)):
        texts += _of_user_memory(own)
    yield from texts
    if not texts and (held := tops(models)):
        number = max(cell.in_flight for cell in held)
        here = [cell for cell in held if cell.in_flight == number]
        yield memory.of_in_flight(number, reaches_of(here), len({cell.strategy for cell in here}))


def _of_user_memory(own: Sequence[c.Cell]) -> list[str]:
    slopes = {name: ("shared", c.memory_of(own, name)) for name in c.strategies_of(own)}
    if not any(isinstance(slope, Slope) and slope.straight for _, slope in slopes.values()):
        return []
    return [memory.of_user_memory(slopes)]


def _has_slope(subject: Subject) -> bool:
    slopes = (subject.cost.full, subject.cost.user)
    return any(isinstance(slope, Slope) and slope.straight and slope.per_fetch > 0 for slope in slopes)


def _of_limits(rows: Sequence[Row]) -> str | None:
    """Say how much of each resource a process gets here, and what bounds it: threads first."""
    valid = [row for row in of_kind(rows, "limit") if row.valid]
    threads = [limits.of_ramp(row.measured) for row in valid if row.strategy == "threads"]
    others = [
        f"{words.plain(row.strategy, 18)} {units.count(found)} ({limits.limit_of(row.measured)})"
        for row in valid
        if row.strategy != "threads" and isinstance(found := row.measured.get("found"), int)
    ]
    texts = threads[:1] + ([f"reached besides: {words.listed(others[:MOST_LIMITS])}"] if others else [])
    return f"limits of this machine for a process: {'; '.join(texts)}" if texts else None


def _of_probes(rows: Sequence[Row]) -> str | None:
    names = sorted({words.plain(row.strategy, 18) for row in rows if row.kind == "probe" and row.valid})
    if not names or any(row.valid and row.kind != "probe" for row in rows):
        return None
    return f"the figures of {words.listed(names[:8])} are in the table of probes: each shows one thing of its own"


def _of_open_loops(rows: Sequence[Row]) -> str | None:
    """Say which rate could be kept, and what a client that waits for responses would not have seen."""
    found = [curve for curve in offered.curves(rows) if any(point.valid for point in curve.points)]
    return findings_offered.answer(found) if found else None


_OF_THE_REST = (_of_limits, compare.finding, _of_open_loops, client_table.finding, _of_probes)


def _sureness(rows: Sequence[Row], seen: Scene | None) -> str:
    """Say how many rounds these sentences rest on, and which trials are no part of them."""
    valid = [row for row in rows if row.valid]
    rounds = len({row.round for row in valid if not row.of_comparison})
    if rounds == 1:
        parts = ["One round on one machine: by how much another would differ is not known"]
    elif rounds:
        parts = [f"Medians over {rounds} rounds on one machine; {_rule(valid)}"]
    else:
        parts = ["Blocks on one machine, each with fresh processes for both sides"]
    parts.append(_left_out(rows))
    if len(valid) < MOSTLY * sum(row.status != "skipped" for row in rows):
        parts.append("with so many red ones, close what else runs on this machine and measure again")
    if seen is not None and seen.others:
        parts.append(_elsewhere(seen))
    return "; ".join(parts) + "."


def _elsewhere(seen: Scene) -> str:
    """Say which setting the sentences on crawls are of, and which are in the tables only."""
    own = seen.cells[0].setting
    every = [own, *seen.others]
    crawls = f"the crawls compared here are those over {_setting(own, every)}"
    if len(seen.others) > 1:
        return f"{crawls}; {len(seen.others)} other settings are in the tables only"
    return f"{crawls}; another setting ({_setting(seen.others[0], every)}) is in the tables only"


def _setting(setting: c.Setting, every: Sequence[c.Setting]) -> str:
    values = [f"{key} {value}" for key, value in c.differing(setting, every).items() if key != "CPU work"]
    return words.plain(", ".join([f"{setting.connection} connections", *values]), 120)


def _rule(valid: Sequence[Row]) -> str:
    """Say what it takes until a sentence is made of these rows."""
    if all(row.kind == "open" for row in valid):
        return "a rate counts as kept only where each of its rounds kept it"
    if c.is_timed(valid):
        return "a difference counts only where chance does not explain it (t test over the rounds, 5 %)"
    return "a difference counts only where the intervals do not overlap"


def _left_out(rows: Sequence[Row]) -> str:
    """Count the red trials, with the reason that most of them have, and those that were never started."""
    skipped = sum(row.status == "skipped" for row in rows)
    red = [row for row in rows if not row.valid and row.status != "skipped"]
    never = f", and {units.count(skipped)} never started" if skipped else ""
    if not red and len(rows) == 1:
        return "the only trial is not red"
    if not red:
        return f"none of {units.count(len(rows))} trials is red{never}"
    reason, _ = Counter(why.partition(": ")[0] for row in red for why in notes.why_red(row)).most_common(1)[0]
    are = "is red and counts" if len(red) == 1 else "are red and count"
    return (
        f"{units.count(len(red))} of {units.count(len(rows))} trials {are} for nothing "
        f"({'' if len(red) == 1 else 'most often '}{words.plain(reason, 80)}){never}"
    )


def _sentence(text: str) -> str:
    """Begin with a capital letter (no sentence here begins with a strategy's name), and end with a full stop."""
    return text[0].upper() + text[1:] + "."
