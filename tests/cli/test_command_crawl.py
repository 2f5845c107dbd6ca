"""``inflight crawl``: kind sites, evil ones, and everything that can be typed wrong."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from inflight import strategies
from inflight.bench.commands import crawl
from inflight.bench.measure import server as fake
from inflight.bench.measure.expected import expected_answer
from inflight.conformance.servers import (
    CA,
    CLOSE,
    HANG,
    READ_HELLO,
    Script,
    Server,
    moved,
    page,
    response,
)
from inflight.conformance.servers import running as serving
from inflight.fake_server.site import SiteConfig
from tests.cli.command import ENVIRONMENT, INFLIGHT, await_end, call, running
from tests.patience import FOREVER_S, until
from tests.ports import free_port

Serve = Callable[[dict[str, Script]], Server]
ServeTls = Callable[..., Server]
KEYS = [
    "url", "status", "next_url", "error", "size", "content_type", "encoding", "num_urls", "num_new_urls", "tries",
]  # fmt: skip
LONGEST = "86400s"
OPEN = [name for name in strategies.models() if not strategies.describe(name).lack]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Return a function that opens a server for this test."""
    with serving() as servers:
        yield servers.serve


@pytest.fixture
def serve_tls() -> Iterator[ServeTls]:
    """Return a function that opens a server of https for this test."""
    with serving() as servers:
        yield servers.serve_tls


def crawl_json(*arguments: object) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Crawl, and return the records by URL and the summary."""
    done = call("crawl", "--json", *arguments)
    *records, last = map(json.loads, done.out.splitlines())
    assert list(last) == ["summary"]
    assert (done.code, done.err == "") == ((0, True) if last["summary"]["pages"] else (1, False))
    return {record["url"]: record for record in records}, last["summary"]


NEVER = "; never: src, srcset, <base>, meta refresh, scripts"
ADVICE = "; check the URL, and that its server runs"
SMALL: dict[str, Script] = {
    "/": page("/a", "/moved", "/missing", "/a#again"),
    "/a": response(200, b"0123456789", "text/plain"),
    "/moved": moved("/a", 301),
}


def test_the_report_has_a_line_for_every_url_and_totals(serve: Serve) -> None:
    base = serve(SMALL).url

    done = call("crawl", f"{base}/", "--in-flight", 1)

    *lines, blank, totals, errors, others = done.out.splitlines()
    assert (done.code, done.err, blank) == (0, "", "")
    assert lines[0] == f"200  {base}/  text/html, 71 B, 3/3 new URLs"
    assert sorted(lines[1:]) == [
        f"200  {base}/a  text/plain, 10 B, 0/0 new URLs",
        f"301  {base}/moved  -> {base}/a  text/html, 16 B, 0/0 new URLs",
        f"404  {base}/missing  text/html, 16 B, 0/0 new URLs",
    ]
    assert totals.startswith("callbacks: 4 URLs, 4 pages (1 redirect), 113 B in ")
    assert totals.endswith(" pages/s, at most 1 in flight")
    assert errors == "errors: none"
    assert others == f"not followed: 1 text/plain page{NEVER}"


def test_a_type_with_a_control_sequence_is_shown_without_it(serve: Serve) -> None:
    base = serve({"/": response(200, b"hi", "\x1b[31m")}).url

    done = call("crawl", f"{base}/")

    assert r"\x1b[31m" in done.out
    assert done.out.replace("\n", "").isprintable()


def test_what_is_not_followed_is_said_with_its_reason(serve: Serve) -> None:
    links = ("https://h/", "https://h/x", "mailto:a@h", "http://other.invalid/", "/away")
    base = serve({"/": page(*links), "/away": moved("https://h/")}).url

    done = call("crawl", f"{base}/")

    assert done.out.splitlines()[-1] == (
        f"not followed: 2 https links, 1 mailto link, 1 other-host link, 1 https redirect{NEVER}"
    )


def test_json_has_a_record_for_every_url_and_a_summary(serve: Serve) -> None:
    base = serve(SMALL).url

    records, summary = crawl_json(f"{base}/", "--in-flight", 1)

    assert {tuple(record) for record in records.values()} == {tuple(KEYS)}
    assert records[f"{base}/moved"] == {
        "url": f"{base}/moved", "status": 301, "next_url": f"{base}/a", "error": None, "size": 16,
        "content_type": "text/html", "encoding": "utf-8", "num_urls": 0, "num_new_urls": 0, "tries": 1,
    }  # fmt: skip
    seconds, rate = summary.pop("seconds"), summary.pop("pages_per_s")
    assert rate == pytest.approx(4 / seconds, rel=0.01)
    assert summary == {
        "strategy": "callbacks", "urls": 4, "pages": 4, "redirects": 1, "statuses": {"200": 2, "301": 1, "404": 1},
        "errors": {}, "bytes": 113, "tries": 4, "peak_in_flight": 1, "not_followed": {"text/plain page": 1},
    }  # fmt: skip


@pytest.mark.parametrize("strategy", OPEN)
def test_every_strategy_crawls_the_whole_fake_site_with_its_faults_and_the_longest_timeout(strategy: str) -> None:
    faults = (("truncated", 0.1), ("error-500", 0.1), ("chunked", 0.1), ("malformed-header", 0.1))
    config = SiteConfig(pages=60, redirects=0.2, missing=0.1, faults=faults)
    with fake.running(None) as server:
        server.configure(config)

        records, summary = crawl_json(f"{server.base}/", "--strategy", strategy, "--timeout", LONGEST)

    expected = expected_answer(config, 1, 10)
    got = {url.removeprefix(server.base): (record["status"], record["size"]) for url, record in records.items()}
    assert got == expected
    failed = sum(status is None for status, _ in expected.values())
    assert summary["strategy"] == strategy
    assert (summary["urls"], summary["pages"]) == (len(expected), len(expected) - failed)
    assert failed == sum(summary["errors"].values()) > 0


def test_a_crawl_without_a_page_exits_with_1_and_one_sentence() -> None:
    url = f"http://127.0.0.1:{free_port()}/"

    done = call("crawl", url, "--max-tries", 3)

    *lines, blank, totals, errors, _ = done.out.splitlines()
    assert (done.code, blank, errors) == (1, "", "errors: 1 connection refused")
    assert lines == [f"---  {url}  (connection refused)  3 tries"]
    assert totals.startswith("callbacks: 1 URL, 0 pages (0 redirects), ")
    assert done.err == f"inflight crawl: nothing could be fetched: 1 connection refused{ADVICE}\n"


def test_a_response_that_is_refused_is_tried_once_and_its_first_wrong_byte_is_named(serve: Serve) -> None:
    server = serve({"/": (b"HTTP/1.2", HANG)})

    done = call("crawl", f"{server.url}/", "--timeout", LONGEST)

    words = "malformed response: header section has b'2' after b'HTTP/1.'"
    assert (done.code, done.out.splitlines()[0]) == (1, f"---  {server.url}/  ({words})")
    assert len(server.observed().requests) == 1


TO_HTTPS = "; {}/ redirects to https, and a crawl has one scheme; give the URL with https"


@pytest.mark.parametrize(
    ("script", "status", "advice"),
    [
        (response(404, b""), 404, ADVICE),
        (moved("http://elsewhere.invalid/", 301), 301, ADVICE),
        (moved("https://elsewhere.invalid/", 301), 301, TO_HTTPS),
    ],
)
def test_a_crawl_that_finds_no_page_exits_with_1_and_says_why(
    serve: Serve, script: Script, status: int, advice: str
) -> None:
    url = serve({"/": script}).url

    done = call("crawl", f"{url}/")

    told = f"inflight crawl: nothing could be fetched: 1 with status {status}{advice.format(url)}\n"
    assert (done.code, done.err) == (1, told)


# https


def test_a_site_on_https_is_crawled_with_its_ca(serve_tls: ServeTls) -> None:
    base = serve_tls({"/": page("/a", "http://127.0.0.1/"), "/a": page()}).url

    records, summary = crawl_json(f"{base}/", "--ca", CA)

    assert {url: record["status"] for url, record in records.items()} == {f"{base}/": 200, f"{base}/a": 200}
    assert summary["not_followed"] == {"http link": 1}


def test_the_path_of_the_ca_may_be_relative(serve_tls: ServeTls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(CA).parent)

    records, _ = crawl_json(f"{serve_tls({'/': page()}).url}/", "--ca", Path(CA).name)

    assert [record["status"] for record in records.values()] == [200]


@pytest.mark.parametrize(
    ("certificate", "options", "why"),
    [
        ("right", (), "is of an unknown CA (--ca FILE)"),
        ("expired", ("--ca", CA), "has expired"),
        ("wrong_host", ("--ca", CA), "is of another host"),
        pytest.param(
            "expired",
            ("--ca", CA, "--strategy", "pycurl_multi"),
            "is expired, of another host, or of an unknown CA (--ca FILE)",
            marks=pytest.mark.skipif(bool(strategies.describe("pycurl_multi").lack), reason="no pycurl"),
        ),
    ],
)
def test_a_certificate_that_is_refused_is_explained(
    certificate: str, options: tuple[str, ...], why: str, serve_tls: ServeTls
) -> None:
    url = f"{serve_tls({'/': page()}, certificate).url}/"

    done = call("crawl", url, *options)

    told = f"1 certificate refused; {url}: its certificate {why}"
    assert (done.code, done.err) == (1, f"inflight crawl: nothing could be fetched: {told}\n")


def test_a_server_of_https_is_no_server_of_http(serve_tls: ServeTls) -> None:
    url = f"{serve_tls({'/': page()}).url}/".replace("https:", "http:")

    done = call("crawl", url)

    assert done.code == 1
    assert done.err.endswith(
        f"; {url}: its server closed the connection without a whole response; does it serve https?\n"
    )


def test_a_server_of_http_is_no_server_of_https(serve_tls: ServeTls) -> None:
    url = f"{serve_tls({}, hello=(READ_HELLO, response(400), CLOSE)).url}/"

    done = call("crawl", url, "--ca", CA)

    told = f"1 TLS error; {url}: its port has no usable TLS; does it serve http?"
    assert (done.code, done.err) == (1, f"inflight crawl: nothing could be fetched: {told}\n")


def test_urls_that_fail_are_part_of_a_crawl_that_succeeds(serve: Serve) -> None:
    good, bad = f"{serve(SMALL).url}/a", f"http://127.0.0.1:{free_port()}/"

    records, summary = crawl_json(good, bad, "--max-tries", 1)

    assert (records[bad]["status"], records[bad]["error"]) == (None, "connection refused")
    assert (summary["pages"], summary["errors"]) == (1, {"connection refused": 1})


def test_options_reach_the_crawl(serve: Serve) -> None:
    server = serve({"/": page("/a", "/b", "/no/c"), "/a": moved("/a2"), "/a2": moved("/a3"), "/a3": page()})

    options = ("--max-redirects", 1, "--exclude", "/no/", "--connection", "per-fetch", "--in-flight", 2, "--lenient")
    records, summary = crawl_json(f"{server.url}/", *options)

    paths = {url.removeprefix(server.url): record["error"] for url, record in records.items()}
    assert paths == {"/": None, "/a": None, "/a2": "redirect limit reached", "/b": None}
    assert summary["peak_in_flight"] <= 2
    assert server.observed().connections == 4
    assert all("\r\nConnection: close\r\n" in request.head for request in server.observed().requests)


def test_several_urls_and_urls_without_a_scheme_are_crawled(serve: Serve) -> None:
    one, two = serve({"/": page()}), serve({"/": page()})

    records, _ = crawl_json(f"127.0.0.1:{one.port}", f"HTTP://127.0.0.1:{two.port}/#top")

    assert set(records) == {f"{one.url}/", f"{two.url}/"}


@pytest.mark.parametrize("script", [(HANG,), (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", HANG)])
def test_a_response_that_does_not_end_in_time_is_a_timeout(serve: Serve, script: Script) -> None:
    url = f"{serve({'/': script}).url}/"

    done = call("crawl", url, "--timeout", "200ms", "--max-tries", 1)

    assert done.code == 1
    assert f"---  {url}  (timeout" in done.out


@pytest.mark.parametrize("strategy", OPEN)
def test_ctrl_c_ends_a_crawl_that_prints_the_pages_that_it_has(serve: Serve, strategy: str) -> None:
    server = serve({"/": page("/x", "/y"), "*": (HANG,)})

    with running("crawl", f"{server.url}/", "--strategy", strategy, "--timeout", LONGEST) as started:
        until(lambda: started.process.poll() is not None or len(server.observed().requests) >= 2)
        started.interrupt()
        done = started.end()

    line, blank, totals, errors, _ = done.out.splitlines()
    assert (done.code, line) == (130, f"200  {server.url}/  text/html, 27 B, 2/2 new URLs")
    assert (blank, errors) == ("", "errors: none")
    assert totals.startswith(f"{strategy}: 1 URL, 1 page (0 redirects), ")
    assert done.err == "interrupted: the crawl was not finished; it has 1 URL\n"


def test_sigterm_ends_a_crawl_whose_json_says_so(serve: Serve) -> None:
    server = serve({"/": page("/x"), "*": (HANG,)})

    with running("crawl", f"{server.url}/", "--timeout", LONGEST, "--json") as started:
        until(lambda: len(server.observed().requests) >= 2)
        started.process.terminate()
        done = started.end()

    record, last = map(json.loads, done.out.splitlines())
    assert (done.code, record["url"], last["summary"]["urls"]) == (130, f"{server.url}/", 1)
    assert last["summary"]["interrupted"] is True


def test_a_crawl_that_is_interrupted_before_its_first_page_prints_none(serve: Serve) -> None:
    server = serve({"*": (HANG,)})

    with running("crawl", f"{server.url}/", "--timeout", LONGEST) as started:
        until(lambda: server.observed().requests)
        started.interrupt()
        done = started.end()

    assert (done.code, done.out, done.err) == (130, "", "interrupted: the crawl was not finished\n")


AWAY = "at most 10 in flight, because {} is not this machine; --in-flight changes it\n"


@pytest.mark.parametrize(
    ("urls", "in_flight", "limit", "away"),
    [
        (["localhost:8080", "http://LOCALHOST./", "http://app.localhost/"], None, 100, ""),
        (["http://127.0.0.1/", "http://127.9.8.7:81/", "http://[::1]/"], None, 100, ""),
        (["http://localhost/", "http://www.example.com/"], None, 10, AWAY.format("www.example.com")),
        (["http://localhost.example.com/"], None, 10, AWAY.format("localhost.example.com")),
        (["http://192.0.2.1/"], None, 10, AWAY.format("192.0.2.1")),
        (["http://0.0.0.0/"], None, 10, AWAY.format("0.0.0.0")),
        (["http://www.example.com/"], 100, 100, ""),
        (["http://localhost/"], 7, 7, ""),
    ],
)
def test_servers_of_others_get_few_fetches_at_once_unless_the_user_gives_a_number(
    urls: list[str], in_flight: int | None, limit: int, away: str, capsys: pytest.CaptureFixture[str]
) -> None:
    job = crawl.job(
        urls=urls, in_flight=in_flight, max_redirects=1, max_tries=1, exclude=None, lenient=False, ca=None,
        timeout="1s", connection="keep-alive",
    )  # fmt: skip

    assert job.max_in_flight == limit
    assert capsys.readouterr().err == away


def test_the_limit_for_the_servers_of_others_is_said_by_the_command() -> None:
    done = call("crawl", "http://elsewhere.invalid/", "--max-tries", 1)

    assert done.err.startswith(AWAY.format("elsewhere.invalid"))


@pytest.mark.parametrize("pages", [3, 3000])
def test_a_closed_pipe_is_no_error(pages: int) -> None:
    with fake.running(None) as server:
        server.configure(SiteConfig(pages=pages))
        read, write = os.pipe()
        process = subprocess.Popen(
            [*INFLIGHT, "crawl", f"{server.base}/"], stdout=write, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
        )
        os.close(write)
        if pages > 3:
            assert os.read(read, 5) == b"200  "
        os.close(read)
        _, errors = process.communicate()

    assert errors == ""


def test_a_strategy_that_ignores_ctrl_c_is_ended(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import os, pathlib, signal, time\nSTACK = 'own'\nREQUIRES = ()\n"
        "def crawl(job, frontier):\n"
        "    signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "    pathlib.Path('crawls').touch()\n"
        f"    time.sleep({FOREVER_S})\n",
        encoding="utf-8",
    )
    with running("crawl", "http://127.0.0.1:9/", "--strategy", tmp_path / "mine.py", folder=tmp_path) as command:
        until((tmp_path / "crawls").exists)
        family = command.family()
        command.interrupt()
        done = command.end()

    assert (done.code, done.out) == (130, "")
    await_end(family)


LEAVES = """
import os
import random
import subprocess
from inflight.strategies.callbacks import crawl as whole
STACK = "shared"
REQUIRES = ()

def crawl(job, frontier):
    subprocess.run(["sh", "-c", "setsid sleep {seconds} > /dev/null 2>&1 & echo $! > {folder}/$$"])
    {then}
"""
"""A strategy that leaves a process in a session of its own, whose parent has ended."""


@pytest.mark.parametrize(
    ("command", "then"),
    [
        (["crawl", "http://127.0.0.1:9/", "--strategy"], "whole(job, frontier)"),
        (["crawl", "http://127.0.0.1:9/", "--strategy"], "os._exit(0)"),
        (["check", "--rule", "ends"], "whole(job, frontier)"),
    ],
)
def test_no_process_of_a_strategy_is_left(tmp_path: Path, command: list[str], then: str) -> None:
    (tmp_path / "pids").mkdir()
    text = LEAVES.format(seconds=round(FOREVER_S), folder=tmp_path / "pids", then=then)
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")

    done = call(*command, "./mine.py", folder=tmp_path)

    left = [int(path.read_text(encoding="utf-8")) for path in (tmp_path / "pids").iterdir()]
    assert left
    await_end([psutil.Process(pid) for pid in left if psutil.pid_exists(pid)])
    if command[0] == "check":
        assert "No thread, task, process" in done.out
