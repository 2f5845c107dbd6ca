"""What a stranger's file or argument may hold: nesting, control sequences, and variables that no process can get.

Each is refused in one printable line, or answered as if it were not there. Strange responses are answered by a crawl.
"""

import gzip
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command import call
from tests.runs.made_runs import noisy_run, saved

HEAD = 'strategies = ["callbacks"]\n'
CRAWL = "[[crawl]]\npages = 5\n"
RED = "\\u001b[31m"
VARIABLE = "[[memory]]\nvariables = { %s }\n"

FILES: dict[str, tuple[str, tuple[str, ...]]] = {
    "a list in a list": ("x = " + "[" * 100_000, ("x.toml", "not TOML", "recursion")),
    "a table in a table": ("x = " + "{a=" * 100_000, ("x.toml", "not TOML", "recursion")),
    "a key with a control sequence": (f'{HEAD}"a{RED}\\nb" = 1\n{CRAWL}', ("unknown key", r"a\x1b[31m\nb")),
    "a module with one": (f'strategies = ["{RED}:x"]\n{CRAWL}', ("no module", r"\x1b[31m")),
    "a number without end": (f"{HEAD}rounds = 1e400\n{CRAWL}", ("rounds", "whole number", "inf")),
    "a share that is no number": (f"{HEAD}[[crawl]]\nsite = {{ faults = {{ drip = nan }} }}\n", ("drip", "nan")),
    "a table twice": (f"{HEAD}[throughput]\n[[throughput]]\n", ("x.toml", "not TOML")),
    "a variable without a name": (HEAD + VARIABLE % '"" = "x"', ("[[memory]] number 1", "variables", "not ''")),
    "a variable with =": (HEAD + VARIABLE % '"A=B" = "x"', ("variables", "'A=B'")),
    "a variable with NUL": (HEAD + VARIABLE % 'X = "\\u0000"', ("variables", "NUL", "'X'")),
    "a variable that hides the harness": (HEAD + VARIABLE % 'PYTHONPATH = "/"', ("variables", "PYTHONPATH")),
    "one of a reference": (
        HEAD + "[[throughput]]\nagainst = { variables = { X = '1', 'a b' = '' } }\n",
        ("[[throughput]] number 1", "variables", "'a b'"),
    ),
    "one of idle threads": ("[[idle]]\nn = [1]\nvariables = { 'a\\b' = '' }\n", ("[[idle]] number 1", "variables")),
}  # fmt: skip


@pytest.mark.parametrize(("text", "names"), FILES.values(), ids=FILES)
def test_an_experiment_is_refused_in_one_printable_line(text: str, names: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(text, encoding="utf-8")

    told = call("run", "x.toml", "--out", "out", folder=tmp_path).sentence

    assert [name for name in names if name not in told] == [], told
    assert told.isprintable()
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("words", ["run", "report", "race", "run --resume", "check", "serve --host", "crawl", "list"])
def test_an_argument_with_a_control_sequence_is_quoted_without_it(words: str, tmp_path: Path) -> None:
    told = call(*words.split(), "a\x1b[31m\nb", folder=tmp_path).refusal

    assert told.isprintable()


@pytest.mark.ci
def test_a_run_with_a_nested_experiment_is_reported_and_not_continued(tmp_path: Path) -> None:
    run = saved(tmp_path / "run", noisy_run(2), experiment="x = " + "[" * 100_000)

    assert call("report", run).code == 0
    assert "not TOML" in call("run", "--resume", run).sentence


PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
LINKS = b'<a href="/a\nb"><a href="\xef\xbb\xbf/bom"><a href="http://u:p@h/"><a href="http://[::1"><a href="&#x2f;x">'
ZIPPED = gzip.compress(b'<a href="/never">', mtime=0)
RESPONSES: dict[str, tuple[bytes, int, str]] = {
    "strange links": (PLAIN + b"Content-Length: %d\r\n\r\n%s" % (len(LINKS), LINKS), 0, "/ab"),
    "both lengths": (
        PLAIN + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", 0, "text/html, 2 B",
    ),
    "gzip unasked": (
        PLAIN + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s" % (len(ZIPPED), ZIPPED), 0, "0/0 new URLs",
    ),
    "a length with a sign": (PLAIN + b"Content-Length: +2\r\n\r\nhi", 1, "bad Content-Length: '+2'"),
    "a chunk with an underscore": (PLAIN + b"Transfer-Encoding: chunked\r\n\r\n0_2\r\nhi\r\n", 1, "not a chunk size"),
    "a type with a control sequence": (
        b"HTTP/1.1 200 OK\r\nContent-Type: \x1b[31m\r\nContent-Length: 2\r\n\r\nhi", 0, r"\x1b[31m",
    ),
}  # fmt: skip


@pytest.fixture
def server() -> Iterator[tuple[int, list[bytes]]]:
    """Yield the port of a server, and a list whose response it gives to the first request of a connection to ``/``."""
    responses: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:  # closed
                return
            with connection:
                is_root = connection.recv(65536).startswith(b"GET / ")
                lost = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
                connection.sendall(responses[0] if is_root else lost)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listener.getsockname()[1], responses
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.mark.ci
@pytest.mark.parametrize(("response", "code", "name"), RESPONSES.values(), ids=RESPONSES)
def test_a_crawl_answers_strange_responses(
    response: bytes, code: int, name: str, server: tuple[int, list[bytes]]
) -> None:
    port, responses = server
    responses.append(response)

    done = call("crawl", f"http://127.0.0.1:{port}/", "--max-tries", 1, "--connection", "per-fetch")

    assert done.code == code
    assert name in done.out
    assert done.out.replace("\n", "").isprintable()
