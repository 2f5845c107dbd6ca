"""SVGs inside a page: no style attributes, unique ids, colours that follow the page, the same drawing."""

import io
import re
from html import escape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inflight.bench.present.inline_svg import inline

from inflight.bench.present import html, name_looks, page, svg_colours
from tests.report.parsed_page import parsed

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 10 10">'
    "<metadata>who</metadata><style>*{{color:red}}</style><script>alert(1)</script>"
    '<defs><path id="m1" d="M 0 0 &#10;L 1.23456 2" style="stroke: #000000; stroke-width: 0.8"/>'
    '<clipPath id="c1"><rect x="1" y="2" width="3" height="4"/></clipPath></defs>'
    '<g id="nothing"><use xlink:href="#m1" x="1.005" onclick="alert(1)" clip-path="url(#c1)"/></g>{}</svg>'
)


def one(inside: str, label: str = "what it says") -> tuple[str, str]:
    (found,), css = inline([(label, SVG.format(inside))])
    return found.svg, css


def test_styles_become_classes_that_are_shared_between_plots() -> None:
    path = '<path d="M 0 0" style="fill: #ffffff; stroke: #d9d9d9"/>'

    found, css = inline([("one", SVG.format(path * 2)), ("two", SVG.format(path))])

    assert "style=" not in "".join(one.svg for one in found)
    assert css.count("fill:var(--paper);stroke:var(--pale)") == 1
    (name,) = re.findall(r"\.(s\d+)\{fill:var\(--paper\)", css)
    assert [one.svg.count(f'class="{name}"') for one in found] == [2, 1]


def test_ids_are_unique_over_plots_and_references_follow_them() -> None:
    found, _ = inline([("one", SVG.format("")), ("two", SVG.format(""))])

    elements = [element for one in found for element in parsed(one.svg).elements]
    ids = [element.attributes["id"] for element in elements if "id" in element.attributes]
    assert ids == ["p0-m1", "p0-c1", "p1-m1", "p1-c1"]
    assert 'href="#p1-m1"' in found[1].svg
    assert 'clip-path="url(#p1-c1)"' in found[1].svg


def test_only_what_a_drawing_needs_is_taken_over() -> None:
    svg, css = one(
        '<image href="http://evil/x.png"/><a href="http://evil">x</a><foreignObject><p>x</p></foreignObject>'
        '<path d="M 0 0" style="fill: url(http://evil/); behavior: x; stroke: red}} * {{color:red"/>'
    )

    assert {element.tag for element in parsed(svg).elements} == {"svg", "defs", "path", "clippath", "rect", "use"}
    assert "evil" not in svg + css
    assert "onclick" not in svg
    assert "}" not in css.replace("}\n", "")


def test_coordinates_keep_two_decimals_and_lose_their_line_ends() -> None:
    svg, _ = one("")

    assert 'd="M 0 0 L 1.23 2"' in svg


def test_text_has_a_colour_that_can_be_read_where_the_shape_of_its_colour_may_be_pale() -> None:
    _, css = one('<text style="fill: #e69f00; font-size: 12px">x</text><path d="" style="fill: #e69f00"/>')

    assert "fill:var(--t4);font-size:12px" in css
    assert "{fill:var(--c4)}" in css


@given(st.from_regex(r"#[0-9a-f]{6}", fullmatch=True))
def test_any_other_colour_can_be_read_in_light_and_dark(colour: str) -> None:
    known = {*(one.lower() for one in name_looks.COLOURS), page.GREY.lower(), page.PALE.lower(), "#000000", "#ffffff"}
    if colour in known:
        return
    variable = svg_colours.variable(colour, of_text=True)

    light, dark = re.findall(rf"{variable}:(#[0-9a-f]{{6}})", svg_colours.rules([variable]))

    assert svg_colours.contrast(light, svg_colours.PAPER) >= svg_colours.LEAST_TEXT - 0.01
    assert svg_colours.contrast(dark, svg_colours.DARK_PAPER) >= svg_colours.LEAST_TEXT - 0.01


@given(st.text(max_size=30))
def test_any_text_stays_text(text: str) -> None:
    svg, _ = one(f"<text>{escape(text)}</text>", label=text.replace("\r", "\n"))

    found = parsed(svg)
    assert found.unclosed == []
    assert len(found.all("text")) == 1
    assert not {"script", "img"} & {element.tag for element in found.elements}


@pytest.mark.parametrize("broken", ["", "no", "<svg>", "<html></html>"])
def test_what_is_no_svg_is_refused(broken: str) -> None:
    with pytest.raises(ValueError, match="not an SVG"):
        inline([("x", broken)])


def test_a_sheet_is_cut_to_its_drawing_and_its_texts_are_told_apart(tmp_path: Path) -> None:
    with page.settings():
        figure = page.sheet("The <finding> of $x^2$ " * 5, "How to read it " * 10, "where from")
        figure.add_subplot().plot([1, 2], [1, 2], label="x")
        figure.savefig(tmp_path / "some.svg")

    (plot,), _ = inline([("some", (tmp_path / "some.svg").read_text(encoding="utf-8"))])

    assert plot.finding == " ".join(["The <finding> of $x^2$"] * 5)
    assert plot.how_to_read == " ".join(["How to read it"] * 10)
    (drawing,) = re.findall(r"viewBox.*", plot.svg)
    assert not re.search("finding|read it|where from", drawing)
    top, height = (float(value) for value in re.findall(r'viewBox="0 ([\d.]+) 959\.76 ([\d.]+)"', plot.svg)[0])
    assert 90 < top < 120, "below two lines of title and two of notes"
    assert 340 < height < 72 * page.HEIGHT - top
    markup = html.plot(plot)
    assert '<h3 id="plot-some">The &lt;finding&gt; of $x^2$' in markup


@pytest.mark.parametrize(("shared", "number"), [(False, 2), (True, 1)])
def test_panels_with_ticks_of_their_own_become_drawings_that_can_be_stacked(shared: bool, number: int) -> None:
    target = io.StringIO()
    with page.settings():
        figure = page.sheet("The finding", "How to read it", "where from")
        for axes in figure.subplots(1, 2, sharey=shared):
            axes.plot([1, 2], [1, 2])
        page.write_svg(figure, target)

    (plot,), _ = inline([("some", target.getvalue())])

    svgs = parsed(plot.svg).all("svg")
    assert len(svgs) == number
    assert plot.is_split is not shared
    labels = [one.attributes["aria-label"] for one in svgs]
    assert labels == ["The finding: How to read it", "The finding: How to read it (panel 2 of 2)"][:number]
    for one in svgs:
        assert one.attributes["viewBox".lower()].split()[2:] == [one.attributes["width"], one.attributes["height"]]


@pytest.mark.parametrize("group", ["figure_1", "axes_2", "panel_1_2_3_4"])
@pytest.mark.parametrize(("colour", "stays"), [("#ffffff", False), ("#e6e6e6", True)])
def test_white_backgrounds_are_left_out_because_the_page_has_its_own(group: str, colour: str, stays: bool) -> None:
    background = f'<g id="patch_1"><path d="M 0 0 z" style="fill: {colour}"/></g>'
    bar = '<g id="patch_2"><path d="M 1 1 z" style="fill: #ffffff"/></g>'

    svg, _ = one(f'<g id="{group}">{background}{bar}</g>')

    assert ('d="M 0 0 z"' in svg) is stays
    assert 'd="M 1 1 z"' in svg
