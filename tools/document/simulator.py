"""The simulator as a page of its own, which needs no network: docs/pages/simulator.html."""

from markupsafe import Markup

from inflight.bench.predict.simulator import fragment
from inflight.bench.show import html as pages
from inflight.bench.show.html import Fragment, text
from tools.document.stored import DocumentError, Runs

PAGE = "docs/pages/simulator.html"
TITLE = "How many fetches in flight are enough?"
LEAD = (
    "With this page you can predict how many pages per second each concurrency model fetches, and the number of "
    "fetches in flight above which more of them do not help."
)


def html(runs: Runs) -> str:
    """Return the simulator of the newest ``map``, which has costs with 1 to 1,000 in flight. Raises DocumentError."""
    run = runs.newest("map")
    if (body := fragment(run.lines)) is None:
        raise DocumentError(f"{run.folder} has nothing to simulate")
    return page(body, f"The costs are from this run: {run.source}")


def page(simulator: Fragment, source: str) -> str:
    """Return a page; ``source`` says from which run the costs are."""
    body = Markup('<main id="main">\n<h1>{}</h1>\n<p>{}</p>\n<p class="source">{}</p>\n{}\n</main>').format(
        TITLE, LEAD, text(source), Markup(simulator.html)  # noqa: S704  (filled by ``fragment``)
    )  # fmt: skip
    return pages.shell(f"inflight: {TITLE}", body, simulator.css, simulator.js, {"simulator-data": simulator.data})
