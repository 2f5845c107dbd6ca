"""The answer of a run: a table of what decides between the models, and what sets threads against asyncio.

``answer_of`` makes it of all studies of the run (``studies``). It is the last screen of ``inflight run``
(``RunAnswer.lines``), the top of the page, and the key ``answer`` of JSON. Its columns are criteria: CPU time,
throughput, memory and so on, each the first part of a study in its usual workload. A grid, or another scan, has a
table of *cells*: a line for each workload, and a column for each model. Sentences are templates of texts.toml. Every
figure of its sentences is in ``as_json``.
"""

import json
import math
import textwrap
import tomllib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from itertools import count, zip_longest
from typing import Any

from inflight.bench import units
from inflight.bench.frame import noise
from inflight.bench.frame.contrast import contrast, records, summary
from inflight.bench.frame.figures import figure_of
from inflight.bench.frame.statistics import MARGIN
from inflight.bench.plan import lists
from inflight.bench.plan.experiment import PRESETS, preset_names
from inflight.bench.plan.trial import REFERENCE
from inflight.bench.race.lanes import races
from inflight.bench.race.page import section as race_section
from inflight.bench.rows.files import Row
from inflight.bench.rows.kinds import OVER_TLS
from inflight.bench.show import at_once, terminal, words
from inflight.bench.show import folder as folders
from inflight.bench.show.at_once import base
from inflight.bench.show.findings import findings
from inflight.bench.show.sections import SIGNS, ends_text, ratio_text, size_text, text, written
from inflight.bench.show.studies import Studies, study_of
from inflight.bench.show.study import parts as parts_of
from inflight.bench.show.table import Table
from inflight.bench.show.words import TEXTS

SENTENCES, STATE = TEXTS["answer"], TEXTS["sentences"]
"""Templates of its sentences: its own, and those on the state of the machine."""
PAIR = ("thread_pool", "native_asyncio")
"""The models of the question "threads or asyncio?"."""
TITLES = {"thread_pool": "threads", "native_asyncio": "asyncio"}
"""What its sentences call them."""
MODELS = ("sequential", "thread_pool", "callbacks", "generators", "native_asyncio", "aiohttp_client")
"""Strategies of a preset that names none."""
COUNTED = ["python_calls_per_page", "system_calls_per_page"]
"""The counts of a sentence."""
USUAL_COLUMNS = ("cpu", "throughput", "memory", "at_once", "held", "swarm")
"""The columns of an experiment that names none, as far as it measured them."""
WIDTH = 80
"""Maximum width of the last screen, in characters."""
HEAD_LINES = (3, 4)
"""Maximum numbers of lines of the head of a column: usually, and in a table that is too wide otherwise."""
MAX_COLUMNS, MAX_MODELS = 4, 30
"""Maximum number of columns, and of models in the table."""
OVER_TLS_COLUMN = "memory_over_tls"
MEMORY_OVER_TLS = ("memory per fetch", "over TLS")
"""The head of that column, and of memory in a run of https alone."""
MAX_OVER_TLS = 4
"""Maximum number of models in the sentence on TLS."""
MAX_FINDINGS = 4
"""Maximum number of findings where no pair of models is compared."""
TIMES = ("cpu", "throughput")
"""The studies of a table of cells."""
SETTINGS = ("site", "connection", "length", "cpu", "latency", "in_flight")
"""What cells can differ in, in the order of the columns."""
MAX_LINES = 21
"""Maximum number of lines of the last screen with a table of cells, but for an empty one; a command adds three."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a column says of a model: a text, and its figures."""

    text: str
    figures: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Criterion:
    """One thing that decides."""

    name: str
    """The study behind it, or ``at_once``."""
    heads: tuple[str, ...]
    """Its figure, the workload, and what stands behind the figure."""
    entries: Mapping[str, Entry]
    """By the names of the models."""


@dataclass(frozen=True, slots=True)
class ModelPair:
    """One model against another one."""

    first: str
    other: str
    clauses: Mapping[str, Entry]
    """What is known on fast and on slow sites, and of memory without TLS and over it."""
    sentence: str
    """All clauses, behind a head."""


@dataclass(frozen=True)
class RunAnswer:
    """The answer of a run."""

    title: str
    state: Sequence[str]
    """Sentences on the machine and on disturbances, which come first."""
    first: Sequence[Criterion]
    """What a line of the table is of: the settings in which cells differ, or the name of a model."""
    columns: Sequence[Criterion]
    """What decides, by model; in a table of cells the models, by cell."""
    models: Mapping[str, str]
    """The HTTP stack of each model, in the order of the table."""
    pairs: Sequence[ModelPair]
    figures: Mapping[str, Any]
    """The figures of ``state`` and of the last ``sentences``."""
    sentences: Sequence[str]
    """All sentences below the table."""

    @property
    def table(self) -> Table:
        """The table; without columns if the run has nothing for them."""
        return _table([*self.first, *self.columns])

    def as_json(self) -> dict[str, Any]:
        """Return the answer as JSON values: its fields but ``first``; texts have no spaces that align them."""
        values = asdict(self)
        del values["first"]
        for column in values["columns"]:
            for entry in column["entries"].values():
                entry["text"] = words.plain(entry["text"])
        return values

    def lines(self, width: int = WIDTH) -> list[str]:
        """Return the last screen: lines of at most ``width`` columns."""
        above = [terminal.wrapped(sentence, width) for sentence in (self.title, *self.state) if sentence]
        below = [terminal.wrapped(sentence, width) for sentence in self.sentences]
        rows = [*_stacked(self.first, self.columns, width), ""] if self.columns else []
        left = len("\n".join([*above, *rows, *below]).split("\n")) - MAX_LINES
        if left > 0 and self.first[0].name:
            rows[-left - 2 :] = [SENTENCES["more"].format(left + 1), ""]
        return "\n".join([*above, "", *rows, *below]).split("\n")


def _table(columns: Sequence[Criterion]) -> Table:
    """Return a table with a line for each entry of the first column; the parts of a head are lines of it."""
    missing = Entry("-", {})
    lines = [tuple(column.entries.get(name, missing).text for column in columns) for name in columns[0].entries]
    return Table("", tuple("\n".join(column.heads) for column in columns), lines)


def _stacked(first: Sequence[Criterion], others: Sequence[Criterion], width: int) -> list[str]:
    """Return the lines of a table; if it is too wide, of two with the same first columns, one below the other."""
    table = _table([*first, *others])
    for most in HEAD_LINES:
        lines = _aligned(table, most)
        if len(others) == 1 or max(map(len, lines)) <= width:
            return lines
    middle = (len(others) + 1) // 2
    return [*_stacked(first, others[:middle], width), "", *_stacked(first, others[middle:], width)]


def _aligned(table: Table, most: int) -> list[str]:
    """Return the lines of a table, with the heads above it in at most ``most`` lines."""
    heads = []
    widths = []
    for parts, entries in zip(table.heads, zip(*table.cells, strict=True), strict=True):
        # The narrowest column in which the head has few enough lines.
        for width in count(max(map(len, [*entries, *parts.split()]))):
            head = [line for part in parts.split("\n") for line in textwrap.wrap(part, width)]
            if len(head) <= most:
                break
        heads.append(head)
        widths.append(width)
    lines = []
    for name, *texts in [*zip_longest(*heads, fillvalue=""), *table.cells]:
        figures = map(str.rjust, texts, widths[1:])
        lines.append("  ".join([name.ljust(widths[0]), *figures]).rstrip())
    return lines


def answer_of(studies: Studies) -> RunAnswer:
    """Return the answer of a run."""
    machine, extras = studies.about
    preset = _preset(studies.rows, machine)
    wanted = folders.experiment_value(extras, "answer")
    if not isinstance(wanted, list):
        wanted = preset.get("answer")
    columns = _columns(studies, wanted or USUAL_COLUMNS)
    # In the order of the first column, then of the others.
    names = dict.fromkeys(name for column in columns for name in column.entries)
    models = {name: studies.stacks.get(name, "") for name in names}
    every = [_against(studies, *pair) for pair in _pairs(studies, models, preset)]
    pairs = [pair for pair in every if pair.clauses]
    figures: dict[str, Any] = {"machine": studies.state}
    starred = {}
    for name, stack in list(models.items())[:MAX_MODELS]:
        starred[name] = Entry(f"{name}*" if stack == "own" else name, {})
    settings, cells = ([], []) if wanted else _cells(studies, columns, starred)
    sentences = list[str]()
    if not settings:
        sentences = [pair.sentence for pair in pairs] or _findings(studies, columns)
    sentences += _counts(studies, [pair.first for pair in every if pair.first not in PAIR], figures)
    if all(column.heads != MEMORY_OVER_TLS for column in columns):
        sentences += _over_tls(studies, figures)
    sentences += _facts(studies, figures, is_alone=not (pairs or settings))
    marks = "".join(entry.text for column in columns for entry in column.entries.values())
    is_in_table = {
        "signs": bool(settings),
        "unsure": "?" in marks and not settings,
        "own": "own" in models.values(),
    }
    legend = [SENTENCES[name] for name, is_marked in is_in_table.items() if is_marked]
    sentences += [" ".join(legend)] if legend else []
    title = _title(studies.rows, machine)
    first = settings or [Criterion("", ("",), starred)]
    return RunAnswer(
        title,
        conditions(studies),
        first,
        cells or columns,
        models,
        pairs,
        figures,
        sentences,
    )


def _preset(rows: Sequence[Row], machine: Mapping[str, Any]) -> dict[str, Any]:
    """Return the preset of a run, as its file has it; empty for another experiment."""
    name = folders.experiment(rows[0].run, machine).removesuffix("-disturbed") if rows else ""
    if name not in preset_names():
        return {}
    return tomllib.loads((PRESETS / f"{name}.toml").read_text(encoding="utf-8"))


def _title(rows: Sequence[Row], machine: Mapping[str, Any]) -> str:
    """Return experiment, machine, interpreter, day and duration."""
    if not rows:
        return ""
    starts = [datetime.fromisoformat(row.started_at) for row in rows]
    ends = [start + timedelta(microseconds=row.duration_ns / 1000) for start, row in zip(starts, rows, strict=True)]
    return SENTENCES["title"].format(
        experiment=words.plain(folders.experiment(rows[0].run, machine), 40),
        cpu=words.plain(machine.get("cpu") or "unknown CPU", 40),
        cores=words.counted(machine.get("cores") or 0, "core"),
        python=words.plain(folders.pythons(rows, machine), 60),
        day=f"{min(starts):%d %b %Y}",
        seconds=f"{(max(ends) - min(starts)).total_seconds():,.0f}",
    )


# The table


def _columns(studies: Studies, wanted: Sequence[str]) -> list[Criterion]:
    """Return the columns for which the run has figures, without one that has the head of another."""
    columns: list[Criterion] = []
    for name in wanted:
        column = COLUMNS.get(name, _of_study)(studies, name)
        if column is not None and column.entries and column.heads not in [other.heads for other in columns]:
            columns.append(column)
    return columns[:MAX_COLUMNS]


def _of_study(studies: Studies, name: str) -> Criterion | None:
    """Return the ratios, or else the means or medians, of a study in the column that stands for all."""
    if not studies.parts.get(name):
        return None
    part = studies.parts[name][0]
    study = part.study
    if study.measure == "median":
        figure = study.order or study.figures[-1]
        if figure not in part.names:  # no trial got that far
            return None
        valid = part.valid.dropna(subset=figure)
        values = zip(valid["line"].map(base), valid[figure], strict=True)
        listed = {line: Entry(figure_of(figure).write(value, 2), {"estimate": value}) for line, value in values}
        return Criterion(name, (study.title, figure_of(figure).words), listed)
    column = part.usual
    write = written(part)
    ratios = dict[str, Any]()
    if study.over is not None:
        if study.over[0] in study.columns:  # columns are compared with each other
            column = part.columns[-1]
        compared = records(part.at(part.ratios, [column]))
        # Without the controls: a reference that is compared with itself alone is no multiple of anything.
        ratios = {ratio.line: ratio for ratio in compared if ratio.line in part.stacks}
    baselines = {words.name(str(ratio.baseline)) for ratio in ratios.values()}
    entries = {}
    means = part.nearest(column)
    for line in filter(means.__contains__, part.stacks):
        mean = means[line]
        ratio = ratios.get(line)
        figures = {
            "estimate": mean.estimate,
            "valid": mean.valid,
            "in_flight": getattr(mean, "in_flight", None),
        }
        text = write(mean)
        if ratio is not None:
            figures |= _of_ratio(ratio)
            text = ratio_text(ratio)
        elif line in baselines:
            text = f"1x ({text})"
        entries[base(line)] = Entry(text, figures)
    where = words.join(", ", part.head(column), words.body("arm", {"site": json.loads(part.lines["site"].iloc[0])}))
    if "connection" not in study.columns and part.lines["connection"].str.endswith(OVER_TLS).all():
        where += OVER_TLS
    heads = [SENTENCES.get(f"head_{name}", study.title), where]
    if name == "tls" and baselines == {str(column[0]).removesuffix(OVER_TLS)}:
        heads = [SENTENCES["multiple_of_plain"].format(*baselines)]
    if ratios:
        heads.append("next run (90 %)")
    return Criterion(name, tuple(heads), entries)


def _of_ratio(ratio: Any) -> dict[str, Any]:
    """Return the figures of a ratio; ends that are not known are None."""
    low, high = (ratio.next_low, ratio.next_high) if math.isfinite(ratio.next_high) else (None, None)
    return {"ratio": ratio.estimate, "answer": ratio.answer, "next_low": low, "next_high": high}


def _of_memory(studies: Studies, name: str) -> Criterion:
    """Return the memory of one more fetch, thread or task in all layers."""
    entries = {}
    heads: tuple[str, ...] = ("memory per fetch",)
    for slope in at_once.slopes(studies, over_tls=name == OVER_TLS_COLUMN).values():
        figures = {"bytes": slope.estimate, "low": slope.low, "high": slope.high}
        entries[slope.line] = Entry(size_text(slope), figures)
        if slope.connection.endswith(OVER_TLS):
            heads = MEMORY_OVER_TLS
    return Criterion(name, heads, entries)


def _at_once(studies: Studies, name: str) -> Criterion:
    """Return how many fetches each model can have at once, and the limit that stops it."""
    entries = {}
    for model, rooms in at_once.rooms(studies).items():
        entries[model] = Entry("not known", {})
        if rooms:
            least = min(rooms, key=rooms.__getitem__)
            entries[model] = Entry(f"{units.count(rooms[least])} {least}", {"most": rooms[least], "by": least})
    return Criterion(name, ("fetches at once (predicted), and what stops them",), entries)


COLUMNS: dict[str, Callable[[Studies, str], Criterion | None]] = {
    "memory": _of_memory,
    OVER_TLS_COLUMN: _of_memory,
    "at_once": _at_once,
}
"""What makes a column; the others are of other studies."""


# The table of cells


def _cells(
    studies: Studies,
    usual: Sequence[Criterion],
    names: Mapping[str, Entry],
) -> tuple[list[Criterion], list[Criterion]]:
    """Return the settings in which cells differ, and the models, as columns; ``names`` are those of the models.

    Both are empty if the ``usual`` columns show more than times, or all cells: some model must have three of them, or
    two in a grid of the command line. The sign of an entry is that of the ratio of CPU times.
    """
    if {column.name for column in usual} != {*TIMES}:
        return [], []
    costs, rates = (parts_of(replace(study_of(name), columns=SETTINGS), studies.lines)[0] for name in TIMES)
    place = ["line", *SETTINGS]
    of_rates = rates.means.assign(rate=list(map(written(rates), records(rates.means))))
    cells = costs.means.merge(of_rates, on=place, suffixes=("", "_rate"))
    cells = cells.merge(costs.ratios[[*place, "answer"]], "left")
    cells["size"] = cells["site"].str.len()  # a larger page has a longer number
    differing = [key for key in SETTINGS if len(set(cells[key])) > 1]
    settings = defaultdict[str, dict[str, Entry]](dict)
    models = defaultdict[str, dict[str, Entry]](dict)
    for each in records(cells.sort_values(["size", "site", "cpu_ns", "latency_ns", "in_flight"])):
        texts = {key: words.short_name(key, getattr(each, key)) for key in differing}
        cell = ", ".join(texts.values())
        for key, value in texts.items():
            settings[key][cell] = Entry(value, {})
        cost = f"({text(costs.study.figure, each)})"
        sign = SIGNS.get(each.answer, "")
        figures = {
            "pages_per_s": each.estimate_rate,
            "cpu_per_page_ns": each.estimate,
            "valid": each.valid,
        }
        models[base(each.line)][cell] = Entry(f"{each.rate:>7} {cost:>8}{sign:2}", figures)
    least = 3
    if studies.rows[0].run.endswith(f"-{lists.NAME}"):
        least = 2
    if max(map(len, models.values()), default=0) < least:
        return [], []
    columns = []
    for name, starred in names.items():
        heads = starred.text, SENTENCES["head_cell"]
        columns.append(Criterion(name, heads, models[name]))
    first = []
    for key, entries in settings.items():
        first.append(Criterion(key, (words.value_words(key),), entries))
    return first, columns


# One model against another


def _pairs(studies: Studies, models: Collection[str], preset: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield threads and asyncio, and each strategy that a user named with the nearest model."""
    if set(PAIR) <= set(models):
        yield PAIR
    trials = at_once.crawled(studies)
    usual = preset.get("strategies", MODELS)
    threads = at_once.with_threads(trials)
    # The nearest model: of a client with a thread for each fetch the thread pool, of others asyncio.
    for name in trials["model"].unique():
        near = PAIR if name in threads else reversed(PAIR)
        others = [model for model in (*near, *MODELS) if model in models and model != name]
        if name in models and name not in {*usual, *MODELS} and others:
            yield name, others[0]


def _against(studies: Studies, first: str, other: str) -> ModelPair:
    """Return what is known of one model against another one."""
    is_usual = (first, other) == PAIR
    titles = TITLES if is_usual else {first: first, other: other}
    clauses = {
        "fast": _timed(studies, "cpu", titles),
        "slow": _timed(studies, "throughput", titles),
        **_memory(studies, titles),
    }
    known = {name: clause for name, clause in clauses.items() if clause is not None}
    head = SENTENCES["threads_against" if is_usual else "against"].format(*titles)
    return ModelPair(
        first,
        other,
        known,
        " ".join([head, *(clause.text for clause in known.values())]),
    )


def _timed(studies: Studies, name: str, titles: Mapping[str, str]) -> Entry | None:
    """Say which of two is better in a study: in CPU time without latency, in pages per second with one.

    None if that was not measured.
    """
    if not studies.parts[name]:
        return None
    part = studies.parts[name][0]
    table = TEXTS[f"answer_{name}"]
    figure = part.study.figure
    lines = part.at(part.compared, [part.usual])
    if (lines["latency_ns"].iloc[0] > 0) != (name == "throughput"):
        return None
    lines = lines.assign(model=lines["line"].map(base))
    lines = lines[lines["model"].isin(titles) & (lines["role"] != "placebo")]
    if lines.empty:
        return None
    lines = lines[lines["valid"]]
    means: dict[Any, float] = summary(lines, ["model"]).set_index("model")["estimate"].to_dict()
    if len(means) < len(titles):
        return _without(titles, means, table)
    winner, loser = sorted(means, key=means.__getitem__, reverse=figure.is_more_better)
    (ratio,) = records(contrast(lines, "model", winner, ["figure"]))
    kind = "alone"
    ends = ""
    if math.isfinite(ratio.next_high):
        kind = ratio.answer
        ends = ends_text(ratio, figure.digits)
    if kind == "unknown" and studies.is_noisy:
        kind = "noisy"
    sentence = table[kind].format(
        winner=titles[winner],
        loser=titles[loser],
        ratio=units.times(ratio.estimate, figure.digits),
        ends=ends,
        value=figure.write(means[winner], 3),
    )
    return Entry(sentence, {"loser": loser, "winner": winner, "values": means} | _of_ratio(ratio))


def _memory(studies: Studies, titles: Mapping[str, str]) -> dict[str, Entry | None]:
    """Say which of two takes less memory per fetch; of http and of https, if the run held fetches of both.

    The model that takes less over https may be the other one.
    """
    plain, over_tls = at_once.slopes(studies), at_once.slopes(studies, over_tls=True)
    if not over_tls or any(slope.connection.endswith(OVER_TLS) for slope in plain.values()):
        return {"memory": _less_memory(plain, titles, TEXTS["answer_memory"])}
    clauses = {"memory": _less_memory(plain, titles, TEXTS["answer_memory_http"])}
    if titles.keys() <= over_tls.keys():
        clauses[OVER_TLS_COLUMN] = _less_memory(over_tls, titles, TEXTS["answer_memory_https"])
    return clauses


def _less_memory(known: Mapping[str, Any], titles: Mapping[str, str], table: Mapping[str, str]) -> Entry | None:
    """Say which of two has the smaller slope of memory; None if that was not measured."""
    slopes = {name: slope for name, slope in known.items() if name in titles}
    if len(slopes) < len(titles):
        return _without(titles, slopes, table) if slopes else None
    less, more = sorted(slopes.values(), key=lambda slope: slope.estimate)
    ratio = more.estimate / less.estimate
    is_apart = less.high < more.low and math.log(ratio) > MARGIN
    sentence = table["differs" if is_apart else "unknown"].format(
        units.size(more.estimate, 2),
        units.size(less.estimate, 2),
        winner=titles[less.line],
        loser=titles[more.line],
        ratio=units.times(ratio),
    )
    values = {more.line: more.estimate, less.line: less.estimate}
    return Entry(
        sentence,
        {
            "loser": more.line,
            "winner": less.line,
            "values": values,
            "ratio": ratio,
        },
    )


def _without(titles: Mapping[str, str], known: Collection[str], table: Mapping[str, str]) -> Entry:
    """Say that a study has nothing valid of some models."""
    bad = [title for name, title in titles.items() if name not in known]
    return Entry(table["invalid"].format(" and ".join(bad)), {"without": bad})


# The other sentences


def _counts(studies: Studies, clients: Sequence[str], figures: dict[str, Any]) -> list[str]:
    """Say what a page does with asyncio, each client that a user named, and the reference; add that to the figures.

    Nothing is said unless the reference and another one were counted.
    """
    counted: dict[Any, Any] = {}
    for part in studies.parts["counts"][:1]:
        counted = part.valid.set_index("line").reindex(columns=COUNTED).dropna().to_dict("index")
    known = {name: counted[name] for name in (PAIR[1], *clients, REFERENCE) if name in counted}
    if len(known) == 1 or REFERENCE not in known:
        return []
    figures["counts"] = known
    texts = []
    for name, values in known.items():
        numbers = (figure_of(key).write(value, 0) for key, value in values.items())
        texts.append((TITLES.get(name, name), *numbers))
    rest = ", ".join(SENTENCES["counts_of"].format(*text) for text in texts[1:])
    return [SENTENCES["counts"].format(*texts[0], rest)]


def _over_tls(studies: Studies, figures: dict[str, Any]) -> list[str]:
    """Say how much memory a fetch takes over TLS with each model that was held so; add that to the figures."""
    known = at_once.slopes(studies, over_tls=True)
    if not known:
        return []
    figures["bytes_over_tls"] = {name: slope.estimate for name, slope in known.items()}
    order = dict.fromkeys(name for name in (*reversed(PAIR), REFERENCE, *known) if name in known)
    texts = [SENTENCES["over_tls_of"].format(size_text(known[name]), TITLES.get(name, name)) for name in order]
    return [SENTENCES["over_tls"].format(", ".join(texts[:MAX_OVER_TLS]))]


def _findings(studies: Studies, columns: Sequence[Criterion]) -> list[str]:
    """Return the first findings of the studies in the table; a run that is a single race begins with it."""
    lanes = races(studies.rows)
    sentences = list[str]()
    if len(lanes) == 1:
        sentences += race_section(lanes[0]).sentences
    in_table = [studies.parts[column.name] for column in columns if column.name in studies.parts]
    for parts in in_table or studies.present:
        sentences += findings(parts[0])
    return sentences[:MAX_FINDINGS]


def conditions(studies: Studies) -> list[str]:
    """Return what is said before all else: a neighbour, the state of the machine, a CPU quota, slow cores, noise.

    A quota that stopped nothing has changed no figure, so it is not said; rows and machine.json have it. Of a noisy run
    no other state of the machine is said.
    """
    rows = studies.rows
    vary, cost, taken = studies.state.values()
    quota = noise.quota(rows)
    state = [STATE["unknown_state"]]
    if vary is not None:
        state = [STATE["unsteady" if vary >= noise.UNSTEADY else "steady"].format(units.percent(vary))]
    if cost is not None:
        state.append(STATE["cost"].format(*cost))
    if taken is not None:
        state.append(STATE["taken"].format(units.percent(taken)))
    sentences = words.disturbed(studies.about[0].get("neighbour"))
    if state != [STATE["unknown_state"]] and not studies.is_noisy:
        sentences.append(f"{'; '.join(state)}.")
    if any(any(getattr(row.measured, "core_kinds", None) or ()) for row in rows):
        sentences.append(STATE["cores"])
    if quota and quota.throttled:
        cores = words.counted(quota.cores, "core")
        time = units.duration(quota.throttled_ns, 2)
        sentences.append(STATE["quota"].format(quota, cores, time))
    if studies.is_noisy:
        sentences.append(studies.noise_sentence("noisy"))
    return sentences


def _facts(studies: Studies, figures: dict[str, Any], *, is_alone: bool) -> list[str]:
    """Say how many threads can be started, the control, clients' own limits and validity; add that to the figures.

    The findings of models that are ``alone``, without a pair, have the control.
    """
    sentences = []
    threads = at_once.limits(studies.rows).get("threads")
    if threads is not None:
        figures["threads"] = threads._asdict()
        kind, write = ("threads", units.number) if threads.is_predicted else ("threads_started", units.count)
        sentences.append(SENTENCES[kind].format(write(threads.most), threads.by))
    for part in [] if is_alone else studies.parts["cpu"][:1]:
        controls = records(part.at(part.controls, [part.usual]))
        for control in sorted(controls, key=lambda control: control.resolution)[-1:]:  # the least certain, of several
            resolution = control.resolution - 1
            figures["control"] = {"ratio": control.estimate, "resolution": resolution}
            sentences.append(SENTENCES["control"].format(units.times(control.estimate), units.percent(resolution)))
    sentences += words.limited(studies.rows)
    bad = [row for row in studies.rows if not row.valid]
    if bad:
        planned = len(studies.rows)
        reasons = bad[0].invalid_reasons or ["no reason given"]
        valid = planned - len(bad)
        reason = words.plain(reasons[0].removesuffix("."), 90)
        figures["trials"] = {"valid": valid, "planned": planned}
        sentences.append(SENTENCES["valid"].format(valid, planned, words.name(bad[0].arm), reason))
    return sentences
