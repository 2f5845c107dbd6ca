"""The frame of a page: one file, one style, one script, and a content policy that allows these two and nothing else."""

import base64
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from bench.present.markup import text

TEMPLATES = Path(__file__).with_name("templates")
_CLOSING = re.compile(r"</(?=style|script)", re.IGNORECASE)


def shell(title: str, body: str, css: str, js: str, data: Mapping[str, str]) -> str:
    """Return a whole page that needs no network.

    ``title`` is plain text. ``body`` is safe markup without style attributes and event handlers, for the policy would
    ignore them. ``css`` follows the rules that all pages share (``templates/report.css``). ``js`` may be empty; then no
    script is allowed at all. ``data`` has the content of each JSON block by its id, ``<`` already written as
    ``\\u003c``. Raises ValueError for a style or a script that would end its own element.
    """
    style = base_css() + css
    for part in (style, js, *data.values()):
        if _CLOSING.search(part):
            raise ValueError("a style, a script or its data would end its own element")
    policy = [
        "default-src 'none'",
        f"style-src '{_hash(style)}'",
        f"script-src '{_hash(js)}'" if js else "script-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    blocks = [f'<script type="application/json" id="{text(name)}">{value}</script>' for name, value in data.items()]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{text(title, 200)}</title>",
            f"<style>{style}</style>",
            "</head>",
            "<body>",
            body,
            *blocks,
            *([f"<script>{js}</script>"] if js else []),
            "</body>",
            "</html>\n",
        ]
    )


def base_css() -> str:
    """Return the rules that all pages share: colours for light, dark and print, and type."""
    return (TEMPLATES / "report.css").read_text(encoding="utf-8")


def _hash(content: str) -> str:
    """Return the hash by which a policy allows an inline element (CSP 3, "hash-source")."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
