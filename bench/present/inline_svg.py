"""SVGs of matplotlib as parts of an HTML page: no style attributes, unique ids, colours of the page. Pure.

A content policy without ``unsafe-inline`` forbids style attributes, and matplotlib writes thousands of them. So each
distinct block of declarations becomes a class, shared by all plots of the page, with a rule in its only stylesheet.
Only elements, attributes and declarations that a drawing needs are kept.
"""

import html
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from inflight.bench.present import page, svg_colours
from inflight.bench.show import words

MOST_LABEL = 2000
_DESCENT = 5.0
"""Points below the last line above a drawing, for letters that reach below the baseline."""

_ELEMENTS = frozenset(
    {"svg", "g", "defs", "path", "use", "text", "tspan", "clipPath", "pattern"}
    | {"rect", "circle", "ellipse", "line", "polyline", "polygon"}
)
_ATTRIBUTES = frozenset(
    {"d", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "width", "height", "points", "transform"}
    | {"viewBox", "patternUnits", "patternContentUnits", "clipPathUnits", "clip-path", "href", "id"}
)
_PAINT = frozenset({"fill", "stroke"})
_DECLARATIONS = _PAINT | {
    "fill-opacity", "fill-rule", "opacity", "stroke-dasharray", "stroke-dashoffset", "stroke-linecap",
    "stroke-linejoin", "stroke-miterlimit", "stroke-opacity", "stroke-width",
    "font", "font-size", "font-stretch", "font-style", "font-variant", "font-weight", "text-anchor",
}  # fmt: skip
_PLAIN_VALUE = re.compile(r"[\w\s.,%'-]*")
_COLOUR = re.compile(r"#[0-9a-f]{6}|black|white")
_LOCAL = re.compile(r"url\(#([\w-]+)\)")
_NUMBER = re.compile(r"-?\d+\.\d{3,}(?!\d*e)")
_NO_TURN = re.compile(r"rotate\(-?0 [^)]*\)")
_PANEL = re.compile(r"(?:panel|key)_(\d+)_(\d+)_(\d+)_(\d+)")
_PAPER_OF, _WHITE = re.compile(r"figure_1|axes_\d+|panel_[\d_]+"), "fill: #ffffff"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class Inlined:
    """A plot as a part of a page: the texts of its sheet (``page.sheet``) and the drawing without them."""

    name: str
    finding: str
    how_to_read: str
    svg: Markup
    """One drawing, or one for each panel and key that can stand alone (``page.write_svg``)."""
    is_split: bool = False


@dataclass(slots=True)
class _Styles:
    """The classes of a page, and the custom properties of their colours."""

    classes: dict[str, str] = field(default_factory=dict)
    variables: set[str] = field(default_factory=set)


def inline(found: Iterable[tuple[str, str]]) -> tuple[list[Inlined], str]:
    """Return the plots (names, and SVGs as matplotlib writes them) for one page, and their common style rules.

    Raises ValueError for a text that is not an SVG.
    """
    styles = _Styles()
    plots = [_inlined(name, svg, f"p{number}-", styles) for number, (name, svg) in enumerate(found)]
    rules = "".join(f".{name}{{{block}}}\n" for block, name in styles.classes.items())
    return plots, svg_colours.rules(styles.variables) + rules


def _inlined(name: str, svg: str, prefix: str, styles: _Styles) -> Inlined:
    try:
        root = ET.fromstring(_NOT_XML.sub("\N{REPLACEMENT CHARACTER}", svg))  # noqa: S314  (written by us)
    except ET.ParseError as error:
        raise ValueError(f"not an SVG: {error}") from error
    if _name(root.tag) != "svg":
        raise ValueError(f"not an SVG: its root is <{_name(root.tag)}>")
    texts = _taken_out(root)
    finding = _told(texts.get("title", [])) or name
    wanted = {match for element in root.iter() for match in _targets(element)}
    label = words.plain(": ".join(filter(None, (finding, _told(texts.get("subtitle", []))))), MOST_LABEL)
    _take_out_paper(root)
    drawings = _panels(root) or {_cut(root, texts): list(root)}
    svgs = []
    for number, (box, elements) in enumerate(drawings.items(), start=1):
        told = label if number == 1 else f"{label} (panel {number} of {len(drawings)})"
        drawn = _svg(told, box, "".join(_element(one, prefix, wanted, styles) for one in elements))
        is_key = elements[-1].get("id", "").startswith("key_")
        svgs.append(f'<div class="key">{drawn}</div>' if is_key else drawn)
    inside = Markup("".join(svgs))  # noqa: S704  (each part is escaped)
    return Inlined(name, finding, _told(texts.get("subtitle", [])), inside, len(drawings) > 1)


def _svg(label: str, box: str, inside: str) -> str:
    """Return a drawing. Its size in points is its size in pixels on a narrow page, so that its text can be read."""
    _, _, width, height = box.split()
    size = [_attribute("width", width), _attribute("height", height)]
    start = ['<svg role="img"', _attribute("aria-label", label), _attribute("viewBox", box), *size]
    return f"{''.join(start)}>{inside}</svg>"


def _panels(root: "ET.Element") -> dict[str, list["ET.Element"]]:
    """Return the panels of a sheet by their view boxes, from the upper left one on; definitions are with the first."""
    found = {" ".join(match.groups()): [one] for one in root.iter() if (match := _PANEL.fullmatch(one.get("id", "")))}
    order = sorted(found, key=lambda box: [int(part) for part in box.split()][1::-1])
    shared = [one for one in root if _name(one.tag) == "defs"]
    return {box: [*(shared if n == 0 else []), *found[box]] for n, box in enumerate(order)}


def _take_out_paper(root: "ET.Element") -> None:
    """Remove the backgrounds of the sheet and of its axes: the page has its own, with a shadow where it scrolls."""
    for parent in root.iter():
        if _PAPER_OF.fullmatch(parent.get("id", "")):
            first = next((one for one in parent if one.get("id", "").startswith("patch_")), None)
            if first is not None and all(one.get("style") == _WHITE for one in first):
                parent.remove(first)


def _taken_out(root: "ET.Element") -> dict[str, list["ET.Element"]]:
    """Remove the texts of a sheet from it; return the lines of each."""
    found = {}
    for parent in list(root.iter()):
        for child in list(parent):
            if (gid := child.get("id", "")) in {"title", "subtitle", "footer"}:
                found[gid] = [one for one in child.iter() if _name(one.tag) == "text"]
                parent.remove(child)
    return found


def _told(lines: Iterable["ET.Element"]) -> str:
    return " ".join(" ".join("".join(line.itertext()).split()) for line in lines)


def _cut(root: "ET.Element", texts: Mapping[str, Sequence["ET.Element"]]) -> str:
    """Return the view box of a sheet without its texts: from the last line above to the first line below."""
    box = root.get("viewBox", "")
    if not texts:
        return box
    left, top, width, height = map(float, box.split())
    above = [_baseline(line) for gid in ("title", "subtitle") for line in texts.get(gid, ())]
    below = [_baseline(line) - page.SMALL for line in texts.get("footer", ())]
    start, end = max([top, *above]) + _DESCENT, min([top + height, *below])
    return f"{left:g} {start:.2f} {width:g} {max(1.0, end - start):.2f}"


def _baseline(line: "ET.Element") -> float:
    """Return the height of a line of text: its ``y``, or, in a text of several lines, that of its translation."""
    _, _, moved = line.get("transform", "").removesuffix(")").rpartition(" ")
    return float(line.get("y", moved))


def _element(element: "ET.Element", prefix: str, wanted: set[str], styles: _Styles) -> str:
    """Write an element with its children; nothing if it is not part of a drawing."""
    name = _name(element.tag)
    if name not in _ELEMENTS or name == "svg":
        return ""
    written = []
    for key, value in element.attrib.items():
        attribute = _name(key)
        if attribute == "id":
            written += [_attribute("id", prefix + value)] if value in wanted else []
        elif attribute == "href":
            written += [_attribute("href", f"#{prefix}{value[1:]}")] if value.startswith("#") else []
        elif attribute in _ATTRIBUTES:
            short = _NO_TURN.sub("", _shortened(_LOCAL.sub(rf"url(#{prefix}\1)", value))).strip()
            written += [_attribute(attribute, short)] if short else []
    if block := _block(element, name, prefix, styles):
        written.append(f' class="{styles.classes.setdefault(block, f"s{len(styles.classes)}")}"')
    inside = "".join(_element(child, prefix, wanted, styles) + _tail(child, name) for child in element)
    text = html.escape(element.text or "", quote=False) if name in {"text", "tspan"} else ""
    if name == "g" and not written:  # groups exist for their ids, which nothing refers to
        return inside
    start = f"<{name}{''.join(written)}"
    return f"{start}>{text}{inside}</{name}>" if text or inside else f"{start}/>"


def _tail(child: "ET.Element", parent: str) -> str:
    return html.escape(child.tail or "", quote=False) if parent in {"text", "tspan"} else ""


def _block(element: "ET.Element", name: str, prefix: str, styles: _Styles) -> str:
    """Return the declarations of an element's style attribute and paint, with the colours of the page."""
    pairs = [(key, value) for key, value in element.attrib.items() if key in _PAINT]
    for declaration in element.get("style", "").split(";"):
        key, _, value = declaration.partition(":")
        pairs.append((key.strip(), value.strip()))
    of_text = name in {"text", "tspan"}
    values = ((key, _value(key, value, prefix, styles, of_text=of_text)) for key, value in pairs)
    return ";".join(f"{key}:{value}" for key, value in values if value)


def _value(key: str, value: str, prefix: str, styles: _Styles, *, of_text: bool) -> str:
    """Return the value of a declaration; empty for one that a drawing does not need."""
    if key not in _DECLARATIONS:
        return ""
    if key in _PAINT:
        if local := _LOCAL.fullmatch(value):
            return f"url(#{prefix}{local[1]})"
        if _COLOUR.fullmatch(value.lower()):
            variable = svg_colours.variable(value.lower(), of_text=of_text)
            styles.variables.add(variable)
            return f"var({variable})"
    return _shortened(value) if _PLAIN_VALUE.fullmatch(value) else ""


def _targets(element: "ET.Element") -> list[str]:
    """Return the ids to which an element refers."""
    found = [match for value in element.attrib.values() for match in _LOCAL.findall(value)]
    return found + [value[1:] for key, value in element.attrib.items() if _name(key) == "href" and value[:1] == "#"]


def _shortened(text: str) -> str:
    """Write coordinates with two decimals, a hundredth of a point, and without line ends."""
    return _NUMBER.sub(lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), " ".join(text.split()))


def _attribute(name: str, value: str) -> str:
    return f' {name}="{html.escape(value)}"'


def _name(tag: str) -> str:
    """Return a name without its namespace."""
    return tag.rpartition("}")[2]
