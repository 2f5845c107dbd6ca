"""The simulator as HTML: markup that has the start setting without a script, data for the script, a page of its own.

All text of rows is escaped.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template
from typing import Any

from markupsafe import Markup

from inflight.bench.present import html as pages
from inflight.bench.present import name_looks, words
from inflight.bench.present.html import Fragment, json_block, text
from inflight.bench.present.table import Table
from inflight.bench.rows.files import Row
from inflight.bench.studies.simulator import show
from inflight.bench.studies.simulator.questions import questions
from inflight.bench.studies.simulator.read import (
    MOST_IN_FLIGHT,
    TIE,
    USUAL,
    USUAL_IN_FLIGHT,
    Load,
    Simulated,
    simulated,
)

_TEMPLATES = Path(__file__).with_name("templates")
_US = 1_000
_FINE, _COARSE = (1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 3, 5)
"""Stops of a slider between two powers of ten."""
MOST_LATENCY_NS, MOST_WORK_NS = 1_000_000 * _US, 10_000 * _US
MOST_SHOWN = 8
"""Maximum number of models with a curve at the start."""

TITLE = "How many fetches in flight are enough?"
LEAD = (
    "With this page you can predict how many pages per second each concurrency model fetches, and the number of "
    "fetches in flight above which more of them do not help."
)


def page(shown: Fragment, source: str) -> str:
    """Return a page of its own; ``source`` says from which run the costs are."""
    body = Markup('<main id="main">\n<h1>{}</h1>\n<p>{}</p>\n<p class="source">{}</p>\n{}\n</main>').format(
        TITLE, LEAD, text(source), Markup(shown.html)  # noqa: S704  (filled by ``fragment``)
    )  # fmt: skip
    return pages.shell(f"inflight: {TITLE}", body, shown.css, shown.js, {"simulator-data": shown.data})


def fragment(rows: Iterable[Row]) -> Fragment | None:
    """Return the simulator of a run; None if the run does not have the costs of two models."""
    found = simulated(rows)
    if found is None:
        return None
    html, css, js = (_TEMPLATES.joinpath(f"simulator.{kind}").read_text("utf-8") for kind in ("html", "css", "js"))
    load = start_load(found)
    warning = show.warning(found)
    filled = Template(html).substitute(
        warning=Markup('<p class="sim-warning"><strong>{}</strong></p>').format(text(warning)) if warning else "",
        told=pages.listed(show.sentences(found.models, load, USUAL_IN_FLIGHT)),
        table=pages.table(show.table(found, load)),
        checked=pages.listed(show.checked(found)),
        errors=_folded("Every measured point with its error", show.errors(found)),
        questions=pages.section(questions(found)),
    )
    return Fragment(filled, css, js, json_block(data(found, load)))


def _folded(summary: str, found: Table | None) -> Markup:
    if found is None:
        return Markup()
    return Markup("<details><summary>{}</summary>{}</details>").format(summary, pages.table(found))


def start_load(found: Simulated) -> Load:
    """Return the load with latency that has the most measured cells."""
    numbers = Counter(point.load for point in found.points if point.load.latency_ns and not point.load.work_ns)
    return max(numbers, key=lambda load: (numbers[load], -load.latency_ns), default=USUAL)


def data(found: Simulated, load: Load) -> dict[str, Any]:
    """Return what the script needs."""
    looks = name_looks.looks(model.strategy for model in found.models)
    usual = sorted((model.strategy for model in found.models), key=_usual_first)[:MOST_SHOWN]
    latencies = _stops(
        _FINE, 100 * _US, MOST_LATENCY_NS, [0, load.latency_ns, *(one.latency_ns for one in found.loads)]
    )
    works = _stops(_COARSE, 10 * _US, MOST_WORK_NS, [0, *(one.work_ns for one in found.loads)])
    numbers = _stops(_FINE, 1, MOST_IN_FLIGHT, [point.in_flight for point in found.points])
    return {
        "tie": TIE,
        "most": MOST_IN_FLIGHT,
        "models": [
            {
                "name": words.plain(model.strategy),
                "colour": looks[model.strategy].number,
                "marker": looks[model.strategy].marker,
                "dashes": _dashes(looks[model.strategy].dashes),
                "shown": model.strategy in usual,
                "costs": model.costs,
            }
            for model in found.models
        ],
        "points": [
            [words.plain(one.strategy), one.load.latency_ns, one.load.work_ns, one.in_flight, one.per_s]
            for one in found.points
        ],
        "loads": [[one.latency_ns, one.work_ns] for one in found.loads],
        "latency": {"stops": latencies, "start": latencies.index(load.latency_ns)},
        "work": {"stops": works, "start": works.index(load.work_ns)},
        "number": {"stops": numbers, "start": numbers.index(USUAL_IN_FLIGHT)},
    }


def _stops(steps: Sequence[float], least: float, most: float, more: Iterable[float]) -> list[float]:
    """Return the values of a slider: steps in each power of ten, and more values."""
    found, decade = set(more), least
    while decade <= most:
        found |= {step * decade for step in steps if step * decade <= most and step * decade == int(step * decade)}
        decade *= 10
    return sorted(found)


def _usual_first(name: str) -> tuple[int, str]:
    return (name_looks.KNOWN.index(name) if name in name_looks.KNOWN else len(name_looks.KNOWN), name)


def _dashes(dashes: Any) -> str:
    """Return the dashes of a look as SVG writes them; empty for a full line."""
    return "" if dashes == "-" else " ".join(f"{2 * length:g}" for length in dashes[1])
