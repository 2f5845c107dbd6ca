"""Which links a page has, which URLs they mean, and which hosts may be visited."""

import codecs
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inflight.strategies.core import links
from inflight.strategies.core.links import (
    PLAIN_PATH,
    HostRule,
    find_links,
    host_of,
    join,
    normalise,
    resolve,
    why_no_url,
)
from tests.core.generators import thorough

BASE = "http://h:81/a/b?c=d"


# Finding


FOUND = tomllib.loads(Path(__file__).with_name("pages.toml").read_text("utf-8"))["found"]


@pytest.mark.parametrize(("links", "body"), [(case["links"], body) for case in FOUND for body in case["pages"]])
def test_links_are_href_values_in_quotes_and_in_tags_without(links: list[str], body: str) -> None:
    assert find_links(body.encode()) == [value.encode() for value in links]


MARKUP = st.lists(
    st.sampled_from(
        [
            "href",
            "HREF",
            "Href",
            "data-",
            "x",
            " ",
            "\n",
            "=",
            ' = "',
            '="',
            "='",
            '"',
            "'",
            "/x",
            'href="/y"',
            "<a ",
            ">",
            "_",
        ]
    ),
    max_size=25,
).map(lambda parts: "".join(parts).encode())


@thorough
@given(MARKUP)
def test_the_short_way_finds_what_the_general_way_finds(body: bytes) -> None:
    assert find_links(body) == list(links._find_odd_links(body, 0))


@pytest.mark.parametrize(
    "unit",
    [
        "<a href=x ",
        "href=x ",
        "x.href=y ",
        "< href=y ",
        '<a b="href=x ',
        "a=b/c/d ",
        "<",
    ],
)
def test_hostile_pages_are_searched_in_one_go(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = []

    class Counting:
        def fullmatch(self, data: bytes, begin: int, end: int) -> object:
            looked_at.append(end - begin)
            return pattern.fullmatch(data, begin, end)

    pattern = links._TAG_BEGUN
    monkeypatch.setattr(links, "_TAG_BEGUN", Counting())
    body = f"<a {2000 * unit}".encode()

    find_links(body)

    assert sum(looked_at) <= links.MAX_MISSES * len(body)


@pytest.mark.parametrize(
    ("reference", "why"),
    {
        "https://h/": "https",
        " HTTPS:x": "https",
        "mailto:a@h": "mailto",
        "JavaScript&colon;void(0)": "javascript",
        "new-scheme:x": "other-scheme",
        "http://user@h/": "invalid",
        "//[": "invalid",
        "&#" + 5000 * "9" + ";": "invalid",
    }.items(),
)
def test_why_a_reference_makes_no_url(reference: str, why: str) -> None:
    assert resolve(BASE, reference.encode(), "utf-8") is None
    assert why_no_url(BASE, reference) == why


@thorough
@given(st.sampled_from([b"\r\n\r\n", b'x: href="/no"\r\n\r\n', b"\n"]), MARKUP)
def test_what_is_before_the_page_is_not_searched(before: bytes, body: bytes) -> None:
    assert find_links(before + body, len(before)) == find_links(body)


# Meaning


DATA = tomllib.loads(Path(__file__).with_name("urls.toml").read_text("utf-8"))


@pytest.mark.parametrize(("href", "url"), [*DATA["urls"].items(), *((href, None) for href in DATA["no_urls"])])
def test_a_link_means_one_normal_url_or_none(href: str, url: str | None) -> None:
    assert resolve(BASE, href.encode(), "utf-8") == url


@pytest.mark.parametrize(
    "encoding",
    [
        None, "utf-8", "no-such-encoding", "a\0b", "hex", "idna", "undefined", "punycode", "unicode_escape",
        "raw_unicode_escape", "utf-7", "utf-16", "utf-32", "cp037",
    ],
)  # fmt: skip
def test_a_page_in_an_encoding_that_no_page_can_have_is_read_as_utf_8(encoding: str | None) -> None:
    assert resolve(BASE, "/é".encode(), encoding) == "http://h:81/%C3%A9"


@pytest.mark.parametrize(
    "encoding",
    [
        "latin-1",
        "cp1252",
        "iso8859-15",
        "ISO-8859-1",
        "windows-1252",
        "Windows-1254",
    ],
)
def test_the_pages_encoding_says_what_its_links_mean(encoding: str) -> None:
    assert resolve(BASE, "/é".encode("latin-1"), encoding) == "http://h:81/%C3%A9"


@pytest.mark.parametrize(
    ("encoding", "codec", "text"),
    [
        ("Windows-31J", "cp932", "/日本"), ("iso-2022-jp", "iso2022_jp", "/日本"), ("gb2312", "gb2312", "/中国"),
        ("windows-949", "cp949", "/한국"), ("koi8-u", "koi8-u", "/яя"), ("windows-1251", "cp1251", "/яя"),
        ("macintosh", "mac-roman", "/éé"), ("windows-874", "cp874", "/ไทย"),
    ],
)  # fmt: skip
def test_each_encoding_of_the_web_is_read_as_such(encoding: str, codec: str, text: str) -> None:
    assert resolve(BASE, text.encode(codec), encoding) == f"http://h:81{quote(text)}"


ENCODINGS = sorted(
    {
        *vars(codecs),
        "ascii",
        "cp037",
        "utf-16",
        "utf-7",
        "unicode_escape",
        "raw_unicode_escape",
        "rot13",
        "zip",
    }
)
REFERENCES = st.one_of(
    st.text(max_size=20),
    st.lists(
        st.sampled_from(
            [
                "http:",
                "https:",
                "//",
                "/",
                "..",
                ".",
                "?",
                "#",
                ":",
                "@",
                "[",
                "]",
                "%",
                "%41",
                "é",
                "h",
                "80",
                "&amp;",
                "&#0;",
                "\\",
                " ",
                "ß",
                "\u0589",
                "\udcff",
            ]
        ),
        max_size=10,
    ).map("".join),
)


@thorough
@given(REFERENCES)
def test_a_reference_means_a_url_that_is_normal_or_nothing(reference: str) -> None:
    url = join(BASE, reference)

    if url is not None:
        assert normalise(url) == url
        assert url.isascii()
        assert url.startswith("http://")
        assert not set(url) & set(' \r\n\t#"<>')
        assert host_of(url)
        assert "/" in url[7:]


@thorough
@given(
    st.binary(max_size=20),
    st.one_of(
        st.none(),
        st.sampled_from(ENCODINGS),
        st.text("abc-_0189", max_size=8),
    ),
)
def test_no_bytes_in_no_encoding_are_an_error(href: bytes, encoding: str | None) -> None:
    url = resolve(BASE, href, encoding)

    assert url is None or normalise(url) == url


@thorough
@given(st.text("/ab.-~_0Z", max_size=15).map("/".__add__), st.sampled_from([BASE, "http://h:81/", "http://h:81/x/y/"]))
def test_a_plain_path_means_what_the_general_way_says(path: str, base: str) -> None:
    if PLAIN_PATH.fullmatch(path.encode()):
        assert resolve(base, path.encode(), "utf-8") == f"http://h:81{path}"


@pytest.mark.parametrize("path", ["/", "/x", "/p/17", "/a/b.html", "/a-b/c_d/~e"])
def test_common_paths_are_plain(path: str) -> None:
    assert PLAIN_PATH.fullmatch(path.encode())


# Hosts


@pytest.mark.parametrize("case", DATA["hosts"], ids=lambda case: f"{case['root']}-{case['strict']}")
def test_the_host_rule(case: dict[str, Any]) -> None:
    rule = HostRule((f"http://{case['root']}/",), strict=case["strict"])

    for _ in ("asked", "asked again"):
        assert {host: rule.allows(host) for host in case["allowed"]} == case["allowed"]


def test_the_hosts_of_all_roots_are_allowed() -> None:
    rule = HostRule(("http://a.example/", "http://b.example:81/x"), strict=True)

    assert [host for host in ("a.example", "b.example", "c.example") if rule.allows(host)] == ["a.example", "b.example"]
