"""The command line: each command parses its options, calls one function and exits with its code.

A command's module is imported when the command is called. Exit codes: ``inflight.bench.commands.exits``. docs/cli.md
documents what all commands share.
"""

import importlib
import os
import sys
import traceback
from contextlib import nullcontext
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NoReturn

import click

from inflight.bench.commands.exits import BUG, INTERRUPTED, REFUSED, ending_text
from inflight.bench.commands.first_help import HELP, WELCOME, InParts
from inflight.bench.commands.numeric import Real, Whole
from inflight.bench.commands.options import (
    FILE,
    FOLDER,
    JSON,
    MARKDOWN,
    MEMORY_BUDGET,
    OUT,
    PLACE,
    QUIET,
    one_strategy,
    option,
    strategies,
)
from inflight.bench.commands.output import complain, hushed, watched
from inflight.bench.commands.usage import sentence
from inflight.fake_server.options import OPTIONS, Option, settings

CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}

NO_MEMORY = (
    "no memory is left; finished rows are kept; free memory or raise RLIMIT_AS (ulimit -v), then `inflight report RUN`"
)


class Guarded(InParts):
    """A group that exits with 70 on an internal error: Python's own 1 means a regression here."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Run the command line; on an internal error print the traceback and exit with 70 (EX_SOFTWARE of sysexits.h).

        When standard output was lost, because a disk is full for example, 0 becomes 2. Other codes are kept.
        """
        with watched() as output:
            code = self._run(*arguments, **options)
            sys.stdout.flush()
            if output.lost is not None:
                complain(f"inflight: {output.lost}")
                code = code or REFUSED
        sys.exit(code)

    def _run(self, *arguments: Any, **options: Any) -> Any:
        try:
            super().__call__(*arguments, **options)
        except SystemExit as ended:
            return ended.code or 0
        except Exception as error:  # noqa: BLE001  (it is printed, and ends the program)
            # The loader of shared libraries has words of its own for memory that it does not get.
            if isinstance(error, MemoryError) or "failed to map segment" in str(error):
                complain(f"inflight: {NO_MEMORY}")
                return REFUSED
            if isinstance(error, OSError):
                complain(f"inflight: {error}; check files, permissions and limits (ulimit -a)")
                return REFUSED
            traceback.print_exc()
            return BUG
        return 0

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Parse the command line and run a command; exit with 2 and one sentence on wrong usage."""
        try:
            return super().main(*arguments, **{"prog_name": "inflight"} | options | {"standalone_mode": False})
        except click.Abort:
            complain("interrupted")
            sys.exit(INTERRUPTED)
        except click.ClickException as error:
            complain(sentence(error))
            sys.exit(REFUSED)

    def invoke(self, context: click.Context) -> Any:
        """Run a command; exit with 130 on Ctrl-C, where click would exit with 1."""
        try:
            return super().invoke(context)
        except click.UsageError as error:
            if error.ctx is None and (command := self.commands.get(context.invoked_subcommand or "")):
                error.ctx = click.Context(command, context, command.name)  # the parser does not say where
            raise
        except KeyboardInterrupt:
            complain("interrupted")
            sys.exit(INTERRUPTED)


@click.group(cls=Guarded, context_settings=CONTEXT, help=HELP, invoke_without_command=True)
@click.version_option(package_name="inflight-bench", prog_name="inflight")
@click.pass_context
def main(context: click.Context) -> None:
    """Say what one can do first, unless a command is given."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that cannot encode "µ" shows "?"
    if context.invoked_subcommand is None:
        print(WELCOME)


def _option(declared: Option) -> click.Option:
    """Return an option of the server as an option of click."""
    kinds: dict[type, Any] = {int: Whole(), float: Real()}
    return click.Option(
        [declared.flag],
        type=kinds.get(declared.kind, declared.kind),
        is_flag=declared.kind is bool,
        multiple=declared.repeated,
        default=declared.default,
        metavar=declared.metavar,
        help=declared.help,
        hidden=declared.is_internal,
    )


@main.command(params=[_option(declared) for declared in OPTIONS], epilog=ending_text("serve"))
@QUIET
def serve(*, quiet: bool, **options: Any) -> None:
    """Serve the synthetic site until Ctrl-C.

    \b
    inflight serve --latency 50ms
    inflight serve --latency "lognormal 50ms 400ms" --port 0
    inflight serve --pages 20 --fault reset-mid=0.1
    """
    from inflight.fake_server.__main__ import ServeError
    from inflight.fake_server.__main__ import serve as serve_site

    try:
        with hushed() if quiet else nullcontext():
            serve_site(settings(options))
    except (ServeError, ValueError) as error:
        _refuse(str(error))
    sys.exit(0)


@main.command(epilog=ending_text("crawl"))
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@one_strategy()
@option("--in-flight", note="[default: 100; 10 if a URL is not on this machine]")
@click.option(
    "--max-redirects",
    metavar="N",
    type=Whole(0, 1000),
    default=10,
    help="Maximum number of redirects followed one after another.",
)
@click.option("--max-tries", metavar="N", type=Whole(1, 1000), default=4, help="Maximum number of tries for each URL.")
@click.option("--exclude", metavar="REGEX", help="Skip URLs that match this regular expression.")
@click.option(
    "--lenient", is_flag=True, help="Also crawl hosts that share the last two labels with a start URL's host."
)
@option("--timeout", default="30s", note="A fetch that takes longer fails.")
@option("--connection", default="keep-alive")
@option("--json", "as_json", note="One object per URL, then one with the summary.")
def crawl(**options: Any) -> None:
    """Crawl http sites, and print one line per URL.

    At most 10 fetches are in flight on the servers of others, unless --in-flight is given. Ctrl-C ends the crawl; the
    pages that it has are printed.

    \b
    inflight crawl http://localhost:8080/
    inflight crawl http://localhost:8080/ --strategy native_asyncio --in-flight 10 --json
    """
    _do("commands.crawl", options, "interrupted: the crawl was not finished")


@main.command(epilog=ending_text("demo"))
@JSON
@QUIET
def demo(**options: Any) -> None:
    """See in ten seconds why it pays to wait for many pages at once.

    It records a race on this machine: one page at a time against up to 100 at a time. Then it plays it once. Nothing is
    stored.

    \b
    inflight demo
    inflight demo --json
    """
    _do("race.demo", options)


@main.command(epilog=ending_text("run"))
@click.argument("name", required=False, metavar="[EXPERIMENT]")
@strategies("Without it, the strategies of the experiment.")
@option("--python", "pythons", multiple=True, note="Repeatable: each strategy then runs on each, in the same blocks.")
@option("--rounds")
@option("--seed", note="They decide the order of the trials.")
@OUT
@click.option("--resume", metavar="RUN", type=PLACE, help="Continue an interrupted run.")
@MEMORY_BUDGET
@JSON
@option("--dry-run", "only_list", note="With the estimated time.")
@click.option("--strict", is_flag=True, help="Exit with 1 if any row is invalid; skipped rows do not count.")
@option("--disturbed")
@QUIET
def run(**options: Any) -> None:
    """Run an experiment: a preset or a TOML file.

    `inflight list` shows the presets.

    \b
    inflight run                           the preset quick
    inflight run sweep --strategy callbacks --strategy thread_pool --rounds 1
    inflight run --python python3.11 --python python3.13
    inflight run my-experiment.toml --dry-run
    inflight run --resume results/20261120T101500000Z-laptop-quick
    """
    _do("commands.run", options)


@main.command(epilog=ending_text("swarm"))
@one_strategy()
@option("--in-flight", type=Whole(1, 10_000_000), note="The sum over all processes.", required=True)
@click.option(
    "--ramp", metavar="RATE", help="Start at most this many fetches per second, e.g. 5000/s. [default: no limit]"
)
@click.option(
    "--hold", metavar="TIME", help="Hold all fetches for this long, e.g. 30s. [default: until memory has been read]"
)
@click.option(
    "--processes", metavar="N", type=Whole(1, 10_000), help="Number of processes. [default: as few as limits allow]"
)
@click.option("--nodes", metavar="N", type=Whole(1, 64), default=1, help="Number of Locust workers.")
@click.option(
    "--web",
    metavar="[PORT]",
    is_flag=False,
    flag_value="8089",
    type=Whole(1, 65_535),
    help="Show Locust's web page on this port of 127.0.0.1. [8089]",
)
@option("--dry-run", note="With what the swarm needs, and which limit binds.")
@option("--memory-budget", note="The swarm uses less. [default: 90 % of the free memory]")
@OUT
@JSON
@QUIET
def swarm(**options: Any) -> None:
    """Hold very many fetches in flight, in many processes.

    All processes run the same strategy, and each has a server of its own. Locust coordinates them.

    \b
    inflight swarm --in-flight 100000
    inflight swarm --strategy thread_pool --in-flight 100000 --dry-run

    Needs Locust: pip install locust. All fetches stay on the loopback interface.
    """
    _do("commands.swarm", options)


@main.command("open-loop", epilog=ending_text("open-loop"))
@click.option(
    "--rate",
    "rates",
    metavar="N",
    type=Real(0.001, 100_000),
    required=True,
    multiple=True,
    help="Requests per second. Repeatable: one trial for each rate.",
)
@click.option("--duration", metavar="TIME", default="10s", help="Duration of each trial, e.g. 10s.")
@option("--latency", note="[default: 10ms]")
@option("--in-flight", type=Whole(1, 20_000), default=200)
@click.option("--target", metavar="URL", help="Request this URL instead of the synthetic site.")
@click.option(
    "--not-loopback", is_flag=True, help="Allow a target on another host; its owner must have permitted the load."
)
@option("--rounds", default=1)
@OUT
@JSON
@QUIET
def open_loop(**options: Any) -> None:
    """Send requests at constant rates, and measure response times.

    Response times are shown with and without the queueing delay of requests that were sent late.

    \b
    inflight open-loop --rate 500 --rate 1000 --rate 2000
    inflight open-loop --rate 50 --duration 5s --target http://127.0.0.1:8000/

    Needs Locust: pip install locust.
    """
    _do("commands.open_loop", options)


@main.command(epilog=ending_text("limits"))
@click.argument("resources", nargs=-1, metavar="[RESOURCE...]")
@option("--dry-run")
@click.option(
    "--through-shared",
    is_flag=True,
    help="Let threads reach limits that all processes share. Other programs may fail meanwhile.",
)
@JSON
@option("--out", note="Each run gets a new folder in it. Without it, nothing is stored.")
@QUIET
def limits(**options: Any) -> None:
    """Find how many threads, ports and so on a process can have.

    The resources are threads, descriptors, ports, backlog (connections that wait to be accepted) and memory. All are
    predicted from the settings of this machine. For threads, a process also starts them until one is refused.

    \b
    inflight limits                        all resources
    inflight limits threads --dry-run      which limit binds, and at how many
    inflight limits backlog ports --out results
    """
    _do("commands.limits", options, "interrupted: all started processes have been stopped")


@main.command(epilog=ending_text("claims"))
@click.argument("chosen", nargs=-1, metavar="[ID...]")
@option("--quick", note="Only the claims that have a short experiment.")
@JSON
@option("--fresh")
@option(
    "--python",
    multiple=True,
    note="Repeatable: the claims on interpreters use these before others of this machine.",
)
@click.option(
    "--free-threaded", metavar="PATH", help="Interpreter without a global lock, for the claims that need one."
)
@strategies("The claim client-collapse tests it, too.", keyword="added")
@OUT
@MEMORY_BUDGET
@option("--dry-run", "only_list", note="With the estimated time.")
@QUIET
def claims(**options: Any) -> None:
    """Test common claims about concurrency on this machine.

    They are about threads, coroutines and callbacks. Each claim gets a verdict.

    \b
    inflight claims                        all claims
    inflight claims --quick
    inflight claims stack-ripping          one claim, with its explanation
    """
    _do("claims.command", options)


@main.command(epilog=ending_text("compare"))
@click.argument("places", nargs=-1, metavar="RUN RUN...", type=PLACE)
@option("--out", note="The files are compare.json, compare.md and compare.png/.svg.")
@JSON
@MARKDOWN
@QUIET
def compare(**options: Any) -> None:
    """Compare stored runs, the last with the first.

    \b
    inflight compare results/20261120T101500000Z-laptop-quick results/20261121T090000000Z-laptop-quick
    inflight compare results/*-quick --out compared

    Times are ratios to the baseline of the same run, so that a busy hour does not look like a change. `inflight ab`
    detects smaller changes: its sides take turns.
    """
    _do("runs.command", options)


@main.command(epilog=ending_text("ab"))
@click.argument("a", metavar="A")
@click.argument("b", metavar="[B]", required=False)
@click.option("--a", "of_a", metavar="KEY=VALUE", multiple=True, help="A setting of side A alone. Repeatable.")
@click.option("--b", "of_b", metavar="KEY=VALUE", multiple=True, help="A setting of side B alone. Repeatable.")
@option("--repo")
@option("--python")
@option("--with", "requirements", multiple=True, note="Repeatable.")
@option("--env", "variables", multiple=True, note="Repeatable.")
@option("--in-flight", note="[default: 100]")
@option("--connection", note="[default: keep-alive]")
@option("--latency", default="0")
@option("--links", default=10)
@option("--cycles")
@option("--metric", "metrics")
@option("--bytecodes")
@option("--budget")
@OUT
@MARKDOWN
@JSON
@QUIET
def ab(**options: Any) -> None:
    """Compare two sides, and decide whether B is worse than A.

    The sides take turns in blocks. A side is a strategy, or strategy@revision of a git repository; without B, both are
    A. The settings of one side are --a and --b: python, with, env, in_flight, connection or repo. Others are for both.

    --metric calls counts instead what both do per page, in seconds and on a busy machine. It exits with 0 if B does the
    same or less, 1 if it does more, 3 if the counts do not repeat. Fewer calls are not always less time.

    \b
    inflight ab callbacks generators --in-flight 1000
    inflight ab callbacks@main callbacks                    main against the working tree
    inflight ab callbacks@HEAD~1 callbacks@HEAD --repo ~/my-fork --budget 5m
    inflight ab aiohttp_client --a with=aiohttp==3.10.11 --b with=aiohttp==3.11.18
    inflight ab native_asyncio --a python=python3.11 --b python=python3.13
    inflight ab callbacks --b env=PYTHONDEVMODE=1
    inflight ab callbacks@main callbacks --metric calls     calls and system calls per page, in seconds
    """
    _do("ab.command", options)


@main.command(epilog=ending_text("selftest"))
@one_strategy("Its blocks give the error rates.")
@option(
    "--python",
    "pythons",
    multiple=True,
    note="Given twice: first for A, then for B; their mean difference is subtracted.",
)
@option("--quick", note="Fewer blocks of one strategy; the bounds are wider.")
@option("--disturbed")
@OUT
@JSON
@QUIET
def selftest(**options: Any) -> None:
    """Measure the noise and the error rates of this harness.

    It measures the noise on this machine, how often `inflight ab` gives a false alarm, and which changes it detects.

    \b
    inflight selftest                      takes about a quarter of an hour
    inflight selftest --quick
    inflight selftest --python python3.13 --python python3.14t

    The results are stored with their rows.
    """
    _do("ab.selftest", options)


@main.command(epilog=ending_text("report"))
@click.argument("folder", required=False, metavar="[RUN]", type=PLACE)
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "terminal", "md", "csv", "parquet", "json"]),
    default="html",
    help="Form of the report. html: a page. terminal: findings, a bar chart and tables. md: Markdown. "
    "csv, parquet: a table of the rows. json: the figures.",
)
@click.option("--output", "out", type=FILE, metavar="FILE", help="Write the report to this file.")
@click.option(
    "--results",
    metavar="FOLDER",
    type=FOLDER,
    default=Path("results"),
    help="Folder of runs; without RUN, the newest one in it is reported.",
)
@QUIET
def report(**options: Any) -> None:
    """Make a page, text, Markdown, a table or JSON of a stored run.

    \b
    inflight report                        page of the newest run, written into its folder
    inflight report results/20261120T101500000Z-laptop-quick --output page.html
    inflight report --format terminal      what `inflight run` prints at its end
    inflight report --format md >> "$GITHUB_STEP_SUMMARY"

    The page is one file with plots, race and raw rows, and needs no network. Without --output, terminal, md, csv and
    json go to standard output.
    """
    _do("commands.report", options)


@main.command(epilog=ending_text("race"))
@click.argument("folder", required=False, metavar="[RUN]", type=PLACE)
@strategies("Without it, all.")
@click.option("--speed", metavar="N", type=Real(0.01, 100), default=1.0, help="Speed of the replay.")
@option("--out", note="A new run gets a new folder in it. [default: results, or with RUN its folder]")
@QUIET
def race(**options: Any) -> None:
    """Replay recorded crawls of the strategies side by side.

    Each strategy was recorded alone, on the same site.

    \b
    inflight race                          measure the preset race, then watch it
    inflight race results/20261120T101500000Z-laptop-quick --speed 0.5
    inflight race --strategy callbacks --strategy thread_pool

    A terminal plays the race once, in ten seconds at speed 1. The page race.html has controls.
    """
    _do("race.command", options)


@main.command(epilog=ending_text("advise"))
@option("--latency", required=True)
@click.option("--cpu", default="0", metavar="TIME", help="CPU time of your own work per page, e.g. 2ms.")
@option("--in-flight", required=True)
@click.option(
    "--from",
    "folder",
    metavar="RUN",
    type=PLACE,
    help="Stored run with the CPU time per page. [default: the newest of this machine]",
)
@click.option(
    "--verify", is_flag=True, help="Measure this workload, and print by how much the expected figures are off."
)
@JSON
@OUT
@QUIET
def advise(**options: Any) -> None:
    """Recommend a model for a workload, with expected figures.

    \b
    inflight advise --latency 80ms --cpu 2ms --in-flight 500
    inflight advise --latency 5ms --in-flight 50 --verify

    The advice is based on the CPU time per page on this machine. If no stored run has it, it is measured first.
    """
    _do("commands.advise", options)


@main.command(epilog=ending_text("check"))
@click.argument("strategy")
@click.option(
    "--rule",
    "rules",
    metavar="RULE",
    multiple=True,
    help="Check only this rule, e.g. cap. Repeatable.",
)
@option("--timeout", default="20s", note="A test that takes longer fails.")
@click.option("-v", "--verbose", is_flag=True, help="Print the traceback of each failed test.")
@JSON
@QUIET
def check(**options: Any) -> None:
    """Check that a strategy keeps the rules of a crawl.

    It runs the conformance suite, and prints which rules hold, and for each broken one what was observed and expected.
    STRATEGY is a name, a file or a module. A client with a stack of its own may break rules because of its library.

    \b
    inflight check callbacks               takes about 20 seconds
    inflight check ./my_client.py --rule cap --rule redirects
    inflight check mypkg.bench:strategy --json
    """
    _do("commands.check", options)


@main.command("list", epilog=ending_text("list"))
@click.argument("chosen", metavar="[STRATEGY]...", nargs=-1)
@click.option("--interpreters", is_flag=True, help="Show the interpreters of this machine instead.")
def list_(**options: Any) -> None:
    """Show the strategies, and the presets with estimated times.

    With names or files, only these strategies.

    \b
    inflight list
    inflight list ./my_client.py           the first line of its docstring, and what it lacks
    inflight list --interpreters           interpreters for `inflight run --python`
    """
    _do("commands.listing", options)


def _do(module: str, options: dict[str, Any], interrupted: str = "interrupted") -> NoReturn:
    """Import the module of a command, run the command, and exit with its code."""
    # One thread of OpenBLAS is enough here. Where it cannot start more, it raises SIGINT, which looks like Ctrl-C.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from inflight.bench.measure.process import no_process_left

        command = importlib.import_module(f"inflight.bench.{module}")
        try:
            with hushed() if options.pop("quiet", False) else nullcontext(), no_process_left():
                code = command.run(**options)
            sys.exit(code)
        except command.REFUSALS as error:
            _refuse(str(error))
    except KeyboardInterrupt:
        complain(interrupted)
        sys.exit(INTERRUPTED)


def _refuse(why: str) -> NoReturn:
    complain(f"{click.get_current_context().command_path}: {why}")
    sys.exit(REFUSED)
