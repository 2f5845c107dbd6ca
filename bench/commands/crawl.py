"""``inflight crawl``: crawl sites with one strategy, in a worker, and print what was found.

It measures nothing: the strategies are used as a crawler. ``job`` makes a ``Job`` of the options, ``_crawled`` runs it
in the process ``measure.crawl_worker``; the rest prints pages and totals.
"""

import json
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from inflight import strategies
from inflight.bench.commands.options import FILE, one_strategy, option
from inflight.bench.commands.output import complain, printable, put, say
from inflight.bench.measure import process
from inflight.bench.plan.experiment import available
from inflight.bench.plan.judge import ExperimentError, need
from inflight.bench.plan.scale import is_loopback
from inflight.bench.rows.kinds import Connection
from inflight.bench.show.words import counted
from inflight.bench.units import count, duration, size
from inflight.strategies.base import Job
from inflight.strategies.core.frontier import REDIRECTS
from inflight.strategies.core.links import host_of, normalise
from inflight.strategies.core.page import Page

WORKER = "inflight.bench.measure.crawl_worker"
"""The program of the worker."""
LIFETIME_S = 366 * 86_400.0
"""Time after which the kernel ends the worker: a year. A crawl has no deadline; its worker ends with this process."""
LAST_PAGES_S = 30
"""Maximum time in seconds in which the worker of an interrupted crawl sends its pages."""
IN_FLIGHT, IN_FLIGHT_AWAY = 100, 10
"""Maximum fetches in flight where the user gives no number: on the loopback interface, and on servers of others."""
REFUSED_BECAUSE = {
    "has expired": "has expired",
    "mismatch": "is of another host",
    "issuer certificate": "is of an unknown CA (--ca FILE)",
    "self-signed": "is of an unknown CA (--ca FILE)",
}
"""What is wrong with a certificate, by a part of the words of OpenSSL."""


@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@one_strategy()
@option("--in-flight", note="[default: 100; 10 if a URL is not on this machine]")
@click.option(
    "--max-redirects",
    metavar="N",
    type=click.IntRange(0, 1000),
    default=10,
    help="Maximum number of redirects followed one after another.",
)
@click.option(
    "--max-tries", metavar="N", type=click.IntRange(1, 1000), default=4, help="Maximum number of tries for each URL."
)
@click.option("--exclude", metavar="REGEX", help="Skip URLs that match this regular expression.")
@click.option(
    "--lenient", is_flag=True, help="Also crawl hosts that share the last two labels with a start URL's host."
)
@click.option(
    "--ca", type=FILE, metavar="FILE", help="Trust the CAs in this file for https. [default: those of the system]"
)
@option("--timeout", default="30s", note="A fetch that takes longer fails.")
@option("--connection", default="keep-alive")
@option("--json", "as_json", note="One object per URL, then one with the summary.")
def run(*, strategy: str, as_json: bool, **options: Any) -> int:
    """Crawl http or https sites, and print one line per URL.

    At most 10 fetches are in flight on the servers of others, unless --in-flight is given. Ctrl-C ends the crawl; the
    pages that it has are printed.

    \b
    inflight crawl http://localhost:8080/
    inflight crawl http://localhost:8080/ --strategy native_asyncio --in-flight 10 --json
    inflight crawl https://localhost:8443/ --ca ca.pem
    """
    strategy = available(strategy)
    order = job(**options)
    lack = strategies.describe(strategy).tls_lack
    need(not (order.is_https and lack), f"{strategy} {lack}")
    try:
        pages, summary = _crawled(strategy, order)
        for page in pages:
            put(json.dumps(asdict(page)) if as_json else _line(page))
        put(json.dumps({"summary": {"strategy": strategy} | summary}) if as_json else _totals(strategy, summary))
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the crawl was not finished") from None
    if "interrupted" in summary:
        complain(f"interrupted: the crawl was not finished; it has {counted(summary['urls'], 'URL')}")
        return 130
    if any(status.startswith("2") for status in summary["statuses"]):
        return 0
    answered = [f"{n} with status {status}" for status, n in summary["statuses"].items()]
    why = ", ".join(_errors(summary) + answered)
    complain(f"inflight crawl: nothing could be fetched: {why}; {_advice(pages)}")
    return 1


def job(
    *,
    urls: Sequence[str],
    in_flight: int | None,
    max_redirects: int,
    max_tries: int,
    exclude: str | None,
    lenient: bool,
    ca: Path | None,
    timeout: str,
    connection: Connection,
) -> Job:
    """Return the job that the options describe. Raises ExperimentError with one sentence."""
    import ssl

    from inflight.bench.commands.run import time_s
    from inflight.bench.measure.limits import descriptor_shortage

    timeout_s = time_s(timeout, "--timeout")  # epoll_wait(2) can wait for at most 24 days
    try:
        re.compile(exclude or "")
    except (re.error, OverflowError, RecursionError) as error:
        # A pattern that repeats too often raises OverflowError, one with too many nested groups RecursionError.
        raise ExperimentError(
            f"--exclude: {str(exclude)[:60]!r} is no regular expression: {error}; simplify it"
        ) from error
    roots = tuple(map(_root, urls))
    schemes = {root.partition(":")[0] for root in roots}
    need(len(schemes) == 1, "give http URLs or https URLs, not both: a crawl has one scheme")
    need(ca is None or schemes == {"https"}, "--ca is for https, and all URLs are http")
    if ca is not None:
        try:
            ssl.create_default_context(cafile=ca)
        except ssl.SSLError as error:
            raise ExperimentError(f"--ca: {ca} has no certificates in PEM format") from error
        except OSError as error:
            raise ExperimentError(f"--ca: cannot read {ca}: {error.strerror}") from error
    if in_flight is None:
        away = [host for host in map(host_of, roots) if not is_loopback(host)]
        in_flight = IN_FLIGHT_AWAY if away else IN_FLIGHT
        if away:
            say(f"at most {in_flight} in flight, because {away[0]} is not this machine; --in-flight changes it")
    if shortage := descriptor_shortage(in_flight, per_fetch=connection == "per-fetch"):
        raise ExperimentError(shortage)
    return Job(
        roots=roots,
        max_in_flight=in_flight,
        connection=connection,
        timeout_ns=round(timeout_s * 1e9),
        max_redirects=max_redirects,
        max_tries=max_tries,
        strict=not lenient,
        exclude=exclude,
        ca=None if ca is None else str(ca.absolute()),
    )


def _crawled(strategy: str, job: Job) -> tuple[list[Page], dict[str, Any]]:
    """Return the pages of a crawl and its totals, one of which is that it was interrupted.

    Raises ExperimentError when the strategy fails, and KeyboardInterrupt when an interrupted crawl has no page.
    """
    from inflight.bench.commands.run import interruptible

    order = {"strategy": strategy, "job": job.to_dict(), "parent": os.getpid()}
    more = {}
    try:
        with process.running([WORKER], order, None, LIFETIME_S) as worker:
            try:
                with interruptible():
                    worker.expect("ready", "knobs")
                    begin_s = time.monotonic()
                    worker.send({"do": "crawl"})
                    crawled = worker.crawled()
                    worker.send({"do": "pages"})
                    answer = worker.expect("pages", "pages")
                seconds = (crawled["end_ns"] - crawled["begin_ns"]) / 1e9
            except KeyboardInterrupt:
                answer = _so_far(worker)
                seconds, more = time.monotonic() - begin_s, {"interrupted": True}
    except process.WorkerError as error:
        raise ExperimentError(f"{strategy}: {error}") from error
    pages = [Page(**values) for values in answer["pages"]]
    return pages, summarise(pages, seconds) | answer["summary"] | more


def _so_far(worker: process.Worker) -> dict[str, Any]:
    """Ask a worker that may still be crawling for its pages. Raises KeyboardInterrupt if it has none."""
    worker.deadline_s = time.monotonic() + LAST_PAGES_S
    worker.process.send_signal(signal.SIGUSR1)
    answer: dict[str, Any] = {}
    with suppress(process.WorkerError):
        while answer.get("event") != "pages":
            answer = worker.hear("event")
    if not answer.get("pages"):
        raise KeyboardInterrupt
    return answer


def summarise(pages: Sequence[Page], seconds: float) -> dict[str, Any]:
    """Return the totals of a crawl that took some seconds.

    ``pages`` of the result counts complete responses, including redirects; errors are by kind.
    """
    whole = [page for page in pages if page.status is not None]
    return {
        "urls": len(pages),
        "pages": len(whole),
        "redirects": sum(page.status in REDIRECTS for page in whole),
        "statuses": {str(status): n for status, n in sorted(Counter(page.status for page in whole).items())},
        "errors": dict(Counter(page.error.partition(":")[0] for page in pages if page.error is not None)),
        "bytes": sum(page.size for page in pages),
        "tries": sum(page.tries for page in pages),
        "seconds": round(seconds, 6),
        "pages_per_s": round(len(whole) / seconds, 3) if seconds else None,
    }


def _root(url: str) -> str:
    """Return the URL from which a crawl starts in its normal form, http if it has no scheme. Raises ExperimentError."""
    text = url if "://" in url else f"http://{url}"
    try:
        normal = normalise(text)
    except ValueError as error:
        raise ExperimentError(f"{url} is not a URL: {error}") from error
    if normal is None:
        raise ExperimentError(f"{url} is not an http URL or an https URL; write it like http://localhost:8080/")
    return normal


def _line(page: Page) -> str:
    """Return the line of a page: status, URL, where a redirect leads, error, type, size and new links."""
    facts = [str(page.status) if page.status is not None else "---", page.url]
    if page.next_url is not None:
        facts.append(f"-> {page.next_url}")
    if page.error is not None:
        facts.append(f"({page.error})")
    if page.status is not None:
        facts.append(
            f"{page.content_type or 'no type'}, {size(page.size)}, {page.num_new_urls}/{page.num_urls} new URLs"
        )
    if page.tries > 1:
        facts.append(f"{page.tries} tries")
    return printable("  ".join(facts))


def _totals(strategy: str, summary: dict[str, Any]) -> str:
    """Return the lines of the summary."""
    elapsed = duration(round(summary["seconds"] * 1e9))
    return (
        f"\n{strategy}: {counted(summary['urls'], 'URL')}, {counted(summary['pages'], 'page')} "
        f"({counted(summary['redirects'], 'redirect')}), {size(summary['bytes'])} in {elapsed}, "
        f"{count(round(summary['pages_per_s'] or 0))} pages/s, at most {count(summary['peak_in_flight'])} in flight\n"
        f"errors: {', '.join(_errors(summary)) or 'none'}\nnot followed: "
        f"{printable(', '.join(counted(n, what) for what, n in summary['not_followed'].items())) or 'none'}; "
        "never: src, srcset, <base>, meta refresh, scripts"
    )


def _advice(pages: Sequence[Page]) -> str:
    """Return what to do when nothing could be fetched."""
    for page in pages:
        other = "http" if page.url.startswith("https:") else "https"
        if page.next_url is not None and page.next_url.lower().startswith(f"{other}:"):
            return f"{page.url} redirects to {other}, and a crawl has one scheme; give the URL with {other}"
        kind, _, details = (page.error or "").partition(": ")
        if kind == "certificate refused":
            return f"{page.url}: its certificate {_why_refused(details)}"
        if kind == "TLS error":
            return f"{page.url}: its port has no usable TLS; does it serve http?"
        if kind in {"closed early", "connection reset"} and other == "https":
            return f"{page.url}: its server closed the connection without a whole response; does it serve https?"
        if kind == "network error":
            return f"{page.url}: {page.error}; check the network of this machine"
    return "check the URL, and that its server runs"


def _why_refused(details: str) -> str:
    """Return what is wrong with a certificate in plain words; ``details`` are the words of OpenSSL, or empty."""
    for part, why in REFUSED_BECAUSE.items():
        if part in details:
            return why
    return f"is refused: {details}" if details else "is expired, of another host, or of an unknown CA (--ca FILE)"


def _errors(summary: dict[str, Any]) -> list[str]:
    """Return the errors of a crawl by kind, each as ``3 timeout``."""
    return [f"{n} {kind}" for kind, n in summary["errors"].items()]
