"""The race as a page of its own, in the frame that all pages have."""

from bench.present.markup import text
from bench.present.shell import shell
from bench.studies.race.fragment import Fragment


def page(shown: Fragment, title: str) -> str:
    """Return the page, which needs no network and lets nothing run but its own script."""
    body = f'<main id="main">\n<h1>{text(title, 200)}</h1>\n{shown.html}\n</main>'
    return shell(title, body, shown.css, shown.js, {"race-data": shown.data})
