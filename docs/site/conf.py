"""How Sphinx makes a site of the same Markdown files that read well on GitHub: `make docs`.

Sphinx rather than MkDocs: its search works in a local file, because the index is a script, and MyST reads Markdown as
GitHub does. The sources are the whole repository, because pages link to README.md, code, and pictures of stored runs.
The navigation is the list of links in docs/README.md; the pages of a folder with a README.md of its own follow it.
"""

import re
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import download_reference, pending_xref
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
WHOLE = 30
"""Maximum number of letters of a word of code that is never broken; it fits on a phone."""
CELLS = {"words": 20, "long": 100}
"""Classes of table cells, for site.css, with the number of letters that a cell of this class exceeds."""

project = "inflight"
root_doc = "docs/README"
extensions = ["myst_parser"]
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "results/README.md", "docs/**.md"]
exclude_patterns = [path.name for path in ROOT.iterdir() if path.is_dir() and path.name not in {"docs", "results"}]
exclude_patterns += ["results/[!R]*"]

highlight_language = "none"  # a block without a language is output, or a table in letters
html_theme = "furo"
html_title = "inflight"
html_copy_source = False
html_show_copyright = False
html_show_search_summary = False  # the summary is fetched, and a page that was opened by a double click may not fetch
html_extra_path = ["index.html"]
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_theme_options = {"top_of_page_buttons": []}
html_use_index = False
html_show_sphinx = False
smartquotes_action = "qe"  # quotes and ellipses; the two hyphens of an option stay

myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # a slide may begin with a heading of any level
myst_links_external_new_tab = False


def navigation(text: str) -> str:
    """Return a hidden toctree for each heading of docs/README.md, of the links in the list below it."""
    sections = re.split(r"^## (.+)$", text, flags=re.MULTILINE)[1:]
    lists = zip(sections[::2], sections[1::2], strict=True)
    return "\n".join(
        toctree([f"{name} <{page}>" for name, page in links(below)], caption=heading) for heading, below in lists
    )


def links(text: str) -> list[tuple[str, str]]:
    """Return name and target of the first link of each item in a list."""
    return re.findall(r"^- \[([^]]+)\]\(([^)#]+\.md)\)", text, flags=re.MULTILINE)


def pages_of(folder: Path) -> list[str]:
    """Return the pages beside a README.md, and the README.md of each folder beside it."""
    found = [*folder.glob("*.md"), *folder.glob("*/README.md")]
    return sorted(path.relative_to(folder).as_posix() for path in found if path != folder / "README.md")


def toctree(entries: list[str], *, caption: str = "") -> str:
    """Return the directive, hidden: the page has the links as text."""
    options = [":hidden:", *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["```{toctree}", *options, "", *entries, "```", ""])


def add_navigation(_app: Sphinx, docname: str, source: list[str]) -> None:
    """Add what Sphinx needs, and readers of the Markdown do not, to the README.md of docs/ and of its folders."""
    if docname == root_doc:
        source[0] += "\n" + navigation(source[0])
    elif docname.startswith("docs/") and docname.endswith("/README"):
        source[0] += "\n" + toctree(pages_of((ROOT / docname).parent))


def drop_links_to_folders(_app: Sphinx, page: nodes.document) -> None:
    """Leave the text of each link to a folder of the repository: a folder is a page on GitHub, and none of the site."""
    for link in list(page.findall(pending_xref)):
        if link["refdomain"] != "doc" and ((ROOT / link["refdoc"]).parent / link["reftarget"]).is_dir():
            link.replace_self(link.children)


def link_to_pages(app: Sphinx, page: nodes.document) -> None:
    """Turn each link to a file of HTML, such as the simulator, into a link to a page; others stay downloads.

    The page is copied with the pictures that it shows.
    """
    for link in list(page.findall(download_reference)):
        file = ((ROOT / link["refdoc"]).parent / link["reftarget"]).resolve()
        if file.suffix == ".html" and file.is_file():
            pictures = re.findall(r'<img src="(\.[^"]+)"', file.read_text(encoding="utf-8"))
            for path in [file, *((file.parent / picture).resolve() for picture in pictures)]:
                copy = Path(app.outdir) / path.relative_to(ROOT)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
            link.replace_self(nodes.reference("", "", *link.children, refuri=link["reftarget"]))


def mark_cells(_app: Sphinx, page: nodes.document) -> None:
    """Give each cell of a table the classes of its length: columns of words need room, columns of figures do not."""
    for cell in page.findall(nodes.entry):
        cell["classes"] += [name for name, letters in CELLS.items() if len(cell.astext()) > letters]


def keep_options(_app: Sphinx, page: nodes.document) -> None:
    """Keep each word of code whole, such as an option with its hyphens, unless it is too long for a phone."""
    for code in page.findall(nodes.literal):
        if max(map(len, code.astext().split()), default=0) <= WHOLE:
            code["classes"].append("whole")


def keep_units(_app: Sphinx, page: nodes.document) -> None:
    """Keep each number on one line with its unit."""
    for text in list(page.findall(nodes.Text)):
        if not isinstance(text.parent, nodes.literal | nodes.literal_block):
            joined = re.sub(r"(?<=\d) (?=(?:%|[µm]?s|min|[KkMG]i?B|B)(?!\w))", "\u00a0", text)
            text.parent.replace(text, nodes.Text(joined))


def setup(app: Sphinx) -> None:
    """Register the steps."""
    app.connect("source-read", add_navigation)
    app.connect("doctree-read", drop_links_to_folders)
    app.connect("doctree-read", link_to_pages)
    app.connect("doctree-read", mark_cells)
    app.connect("doctree-read", keep_options)
    app.connect("doctree-read", keep_units)
