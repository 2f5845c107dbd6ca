"""Results are there to be published: nothing that a run writes says where things lie on the machine that measured."""

import base64
import gzip
import json
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from inflight.bench.measure import host
from inflight.bench.rows import files as rows
from inflight.bench.rows.files import without_places
from tests.real_run import RealRun

REFERENCE = Path(__file__).parents[1] / "results" / "reference"
ABSOLUTE = re.compile(r"(?:(?<![\w./~<)])|(?<=file://))/[\w@+-][^\s'\"`,;()<>|]*|(?<!\w)[A-Za-z]:\\\w[^\s'\"]*")
"""An absolute path, of POSIX or of Windows, wherever it stands in a text."""
ALLOWED = (
    re.compile(r"/(proc|sys)/"),  # what the kernel says, under the same name on every machine
    re.compile(r"/p/\d+"),  # a page of the synthetic site
)
_CODE = ("style", "script")
_HASH = re.compile(r"'sha256-[\w+/=]+'")
"""A hash of the page's own code, in its content policy: in base64, which has slashes."""


class Texts(HTMLParser):
    """What a page says and links to; its own code, which is the same in every page, is left out."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = "" if dict(attrs).get("type") == "application/json" else tag
        self.found += [_HASH.sub("", value) for _, value in attrs if value]

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002  (the parser passes it)
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside not in _CODE:
            self.found.append(data)


def texts_of_json(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, one in value.items():
            yield from (name, *texts_of_json(one))
    elif isinstance(value, list):
        for one in value:
            yield from texts_of_json(one)
    elif isinstance(value, str):
        yield value


def texts_of_page(text: str) -> Iterator[str]:
    page = Texts()
    page.feed(text)
    for found in page.found:
        if found.startswith("data:application/gzip;base64,"):
            yield gzip.decompress(base64.b64decode(found.partition(",")[2])).decode()
        else:
            yield found


def texts_of_png(data: bytes) -> Iterator[str]:
    """Return the text chunks of a PNG; its pixels say nothing (https://www.w3.org/TR/png/#5Chunk-layout)."""
    place = 8
    while place < len(data):
        size = int.from_bytes(data[place : place + 4], "big")
        if data[place + 4 : place + 8] in {b"tEXt", b"iTXt"}:
            yield data[place + 8 : place + 8 + size].decode("latin-1")
        place += 12 + size


def texts(path: Path) -> Iterator[str]:
    """Return what a file says, without the marks of its format."""
    if path.suffix == ".png":
        yield from texts_of_png(path.read_bytes())
        return
    text = rows.text(path.parent) if path.name == rows.PACKED_FILE else path.read_text("utf-8")
    if path.suffix == ".json":
        yield from texts_of_json(json.loads(text))
    elif path.suffix in {".jsonl", ".xz"}:
        for line in text.splitlines():
            yield from texts_of_json(json.loads(line))
    elif path.suffix in {".html", ".svg"}:
        yield from texts_of_page(text)
    else:
        yield text


def absolute(text: str) -> list[str]:
    return [found for found in ABSOLUTE.findall(text) if not any(one.match(found) for one in ALLOWED)]


def places_in(folder: Path) -> dict[str, list[str]]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    assert files
    found = {
        str(path.relative_to(folder)): [one for text in set(texts(path)) for one in absolute(text)] for path in files
    }
    return {name: many[:3] for name, many in found.items() if many}


@pytest.mark.ci
@pytest.mark.parametrize("run", sorted(REFERENCE.iterdir()), ids=lambda run: run.name)
def test_the_reference_runs_name_no_place(run: Path) -> None:
    assert places_in(run) == {}


def test_a_run_names_no_place(real_run: RealRun) -> None:
    assert places_in(real_run.folder) == {}


def test_a_command_is_kept_without_the_places_in_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        sys,
        "argv",
        [
            "/usr/bin/inflight",
            "run",
            str(tmp_path / "tiny.toml"),
            "--out",
            str(tmp_path / "results"),
        ],
    )

    assert host.machine()["command"] == ["inflight", "run", "tiny.toml", "--out", "results"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (sys.executable, Path(sys.executable).name),
        ("/usr/lib/x/y.so: failed to map", "y.so: failed to map"),
        ('File "/usr/lib/x.py", line 3', 'File "x.py", line 3'),
        ("A=/usr/bin:/usr/local/bin", "A=bin:bin"),
        ("pkg @ file:///usr/share/pkg.whl", "pkg @ file://pkg.whl"),
        ("/p/3: expected 200", "/p/3: expected 200"),
        ("0 in /proc/net/netstat", "0 in /proc/net/netstat"),
        ("http://127.0.0.1:8000/usr/x", "http://127.0.0.1:8000/usr/x"),
        ("results/reference", "results/reference"),
        ("../x and ~/y, 1/2, pages/s", "../x and ~/y, 1/2, pages/s"),
    ],
)
def test_only_the_last_part_of_a_path_is_kept(text: str, left: str) -> None:
    assert without_places({"a": [text, 1, None]}) == {"a": [left, 1, None]}


def test_a_folder_with_spaces_is_left_out_too(tmp_path: Path) -> None:
    place = tmp_path / "my own place" / "python"
    place.parent.mkdir()
    place.touch()

    assert without_places(str(place)) == "python"
