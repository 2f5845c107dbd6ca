"""A page as a browser takes it apart: elements, attributes, ids, headings, and what it would load or run."""

import base64
import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise

EMPTY = {"meta", "input", "br", "wbr", "img", "link", "hr"}
OTHER_FILES = {"iframe", "object", "embed", "link", "base", "form", "image"}
LOADS = {"src", "href", "srcset", "poster", "data", "action", "formaction", "background", "ping", "manifest"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Parsed:
    elements: list[Element] = field(default_factory=list)
    unclosed: list[str] = field(default_factory=list)

    def all(self, tag: str) -> list[Element]:
        return [one for one in self.elements if one.tag == tag]

    @property
    def text(self) -> str:
        """All that is read, without styles and scripts."""
        return " ".join(one.text for one in self.elements if one.tag not in {"style", "script"})


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found = Parsed()
        self.open: list[Element] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.found.elements.append(element)
        if tag not in EMPTY:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.elements.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        own = [one for one in self.open if one.attributes.get("class") != "whole"]  # a word that is not broken
        if own:
            own[-1].text += data if own[-1].tag in {"style", "script"} else data.replace("\xa0", " ")


def parsed(page: str) -> Parsed:
    """Take a page apart; what is closed in the wrong order fails."""
    parser = _Parser()
    parser.feed(page)
    parser.close()
    parser.found.unclosed = [element.tag for element in parser.open]
    return parser.found


def check(page: str) -> Parsed:
    """Hold a page against what every page must keep to, and return it."""
    found = parsed(page)
    assert found.unclosed == []
    assert len(page.encode()) < 3_000_000
    _check_nothing_is_loaded(found)
    _check_policy(found)
    _check_structure(found)
    return found


def _check_nothing_is_loaded(found: Parsed) -> None:
    for element in found.elements:
        for name, value in element.attributes.items():
            assert name != "style", element
            assert not name.startswith("on"), element
            if name in LOADS or name == "xlink:href":
                is_row_file = element.tag == "a" and value.startswith("data:application/gzip;base64,")
                is_plot = element.tag == "img" and value.startswith("data:image/svg+xml,")
                assert value.startswith("#") or is_row_file or is_plot, (element.tag, name, value[:80])
    (style,) = found.all("style")
    assert not re.search(r"@import|url\((?!#)|expression\(|https?:", style.text)
    assert not OTHER_FILES & {one.tag for one in found.elements}


def _check_policy(found: Parsed) -> None:
    (policy,) = [
        one.attributes["content"]
        for one in found.all("meta")
        if one.attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    (styles,) = found.all("style")
    scripts = [one for one in found.all("script") if "type" not in one.attributes]
    assert len(scripts) <= 1
    assert all(one.attributes.get("type", "application/json") == "application/json" for one in found.all("script"))
    script = f"'{_hash(scripts[0].text)}'" if scripts else "'none'"
    style = f"img-src data:; style-src '{_hash(styles.text)}'"
    assert policy == f"default-src 'none'; {style}; script-src {script}; base-uri 'none'; form-action 'none'"


def _check_structure(found: Parsed) -> None:
    ids = Counter(one.attributes["id"] for one in found.elements if "id" in one.attributes)
    assert [name for name, number in ids.items() if number > 1] == []
    for element in found.elements:
        for name in ("aria-labelledby", "aria-controls", "for"):
            assert element.attributes.get(name, next(iter(ids))) in ids
        for target in re.findall(r"url\(#([^)]+)\)", " ".join(element.attributes.values())):
            assert target in ids
        if element.attributes.get("href", "").startswith("#"):
            assert element.attributes["href"][1:] in ids
    levels = [int(one.tag[1]) for one in found.elements if re.fullmatch(r"h[1-6]", one.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(one.attributes.get("alt") for one in found.all("img"))
    assert len(found.all("main")) == 1
    assert found.all("html")[0].attributes == {"lang": "en"}
    assert len(found.all("caption")) == len(found.all("table"))
    assert all("scope" in one.attributes for one in found.all("th"))


def _hash(content: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
