"""The race as a page of its own, in the frame that all pages have."""

from markupsafe import Markup

from bench.present import words
from bench.present.html import shell
from bench.studies.race.fragment import Fragment


def page(shown: Fragment, title: str) -> str:
    """Return the page, which needs no network and lets nothing run but its own script."""
    head = words.plain(title)
    body = Markup('<main id="main">\n<h1>{}</h1>\n{}\n</main>').format(head, Markup(shown.html))  # noqa: S704  (escaped)
    return shell(title, body, shown.css, shown.js, {"race-data": shown.data})
