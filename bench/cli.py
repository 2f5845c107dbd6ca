"""The commands: parse, call one function, exit code. What they need is imported when they are called.

The exit codes are in ``inflight.bench.commands.exits``; docs/cli.md shows them and all else that the commands have in
common.
"""

import importlib
import sys
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from inflight.bench.commands import address_space
from inflight.bench.commands.exits import BUG, INTERRUPTED, REFUSED, told
from inflight.bench.commands.output import complain, hushed, watched
from inflight.fake_server.options import OPTIONS, Option, settings

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
DISTURBED: Any = {
    "type": click.Choice(["spin", "memory"]),
    "help": "Start a neighbour that computes, or walks through memory, half of the time, to see what is promised.",
}
QUIET = click.option("-q", "--quiet", is_flag=True, help="Say nothing on standard error but what went wrong.")

READING = frozenset(
    {"commands.report"}
    | {f"studies.{study}.command" for study in ("advice", "claims", "compare", "race", "selftest", "stored")}
)
"""Modules of the commands that read rows to go on, so that they end before they begin where that cannot be done."""


def _completing(name: str) -> Callable[[click.Context, click.Parameter, str], "list[CompletionItem]"]:
    """Return a callback for ``shell_complete``: a function of the module that is imported when a shell asks."""

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> "list[CompletionItem]":
        found: list[CompletionItem] = getattr(importlib.import_module("inflight.bench.commands.completion"), name)(
            incomplete
        )
        return found

    return complete


PRESET, RUN, RUN_OR_FILE = _completing("presets"), _completing("stored_runs"), _completing("stored_runs_and_files")
STRATEGY, STRATEGIES = _completing("strategy"), _completing("strategy_list")


class Guarded(click.Group):
    """A group whose bugs do not look like verdicts: Python would end them with 1, which means a regression here."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Run the command line; exit with 70 (EX_SOFTWARE of sysexits.h) on a bug, with its traceback.

        Standard output that was lost turns 0 into 2: a disk is full, say. Other codes say something worse already.
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
        except Exception as error:  # noqa: BLE001  (it is shown whole, and ends the program)
            if (out_of_memory := address_space.told(error)) is not None:
                complain(f"inflight: {out_of_memory}. Rows that were written are complete.")
                return REFUSED
            traceback.print_exc()
            return BUG
        return 0

    def invoke(self, context: click.Context) -> Any:
        """Run a command; Ctrl-C ends it with 130, which click would make 1."""
        try:
            return super().invoke(context)
        except KeyboardInterrupt:
            complain("interrupted")
            sys.exit(INTERRUPTED)


@click.group(cls=Guarded, context_settings=CONTEXT)
@click.version_option(package_name="inflight-bench", prog_name="inflight")
def main() -> None:
    """Compare Python concurrency models: the same crawl of the same local site, one thing different.

    \b
    inflight run quick                     every strategy side by side, in about a minute
    inflight ab callbacks@main callbacks   is what lies here slower than what is committed?
    inflight claims --quick                what is said of threads and coroutines, put to the test
    inflight race                          watch the strategies crawl side by side
    inflight advise --latency 80ms --cpu 2ms --in-flight 500
    inflight swarm --in-flight 100000      as many at once, in as many processes as it takes
    inflight crawl http://HOST/ --strategy callbacks
    inflight serve --delay 50ms            the synthetic site, for your own client
    inflight list                          strategies and presets
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without "µ" shows "?", and nothing is lost for it


def _option(option: Option) -> click.Option:
    """Return an option of the server's as one of a command."""
    return click.Option(
        [option.flag],
        type=option.kind,
        is_flag=option.kind is bool,
        multiple=option.repeated,
        default=option.default,
        show_default=True,
        metavar=option.metavar,
        help=option.help,
    )


@main.command(params=[_option(option) for option in OPTIONS], epilog=told("serve"))
def serve(**options: Any) -> None:
    """Serve the synthetic site until Ctrl-C.

    \b
    inflight serve --delay 50ms
    inflight serve --port 0 --pages 20 --fault reset-mid=0.1
    """
    from inflight.fake_server.__main__ import serve as serve_site

    try:
        wanted = settings(options)
    except ValueError as error:
        _refuse(str(error))
    sys.exit(serve_site(wanted))


@main.command(epilog=told("crawl"))
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option(
    "--strategy",
    default="callbacks",
    show_default=True,
    help="The concurrency model to crawl with.",
    shell_complete=STRATEGY,
)
@click.option("--max-in-flight", type=click.IntRange(1, 1_000_000), default=100, show_default=True)
@click.option("--max-redirect", type=click.IntRange(0, 1000), default=10, show_default=True)
@click.option("--max-tries", type=click.IntRange(1, 1000), default=4, show_default=True)
@click.option("--exclude", metavar="REGEX", help="Leave out URLs in which this is found.")
@click.option("--lenient", is_flag=True, help="Follow hosts that share the last two labels with a root.")
@click.option(
    "--timeout",
    metavar="TIME",
    default="30s",
    show_default=True,
    help="For each fetch; e.g. 500ms, 5s; a bare number is seconds.",
)
@click.option("--connection", type=click.Choice(["keep-alive", "per-fetch"]), default="keep-alive", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a URL, then one with the summary.")
def crawl(**options: Any) -> None:
    """Crawl plain-http sites from the given URLs and report every URL on a line of its own.

    \b
    inflight crawl http://localhost:8080/
    inflight crawl http://localhost:8080/ --strategy native_asyncio --max-in-flight 10 --json
    """
    _do("studies.crawl.command", options, "interrupted: the crawl was not finished")


@main.command(epilog=told("run"))
@click.argument("name", required=False, metavar="[EXPERIMENT]", shell_complete=PRESET)
@click.option("--strategies", "chosen", metavar="A,B,...", help="Only these strategies.", shell_complete=STRATEGIES)
@click.option("--rounds", type=click.IntRange(1, 1000), help="How often each trial is repeated.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Decides the order of the trials.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("results"), show_default=True)
@click.option(
    "--resume",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Go on with an interrupted run.",
    shell_complete=RUN,
)
@click.option(
    "--memory-budget", metavar="SIZE", help="End a trial that needs more, e.g. 4GB. [default: half of what is free]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON on standard output.")
@click.option("--list", "only_list", is_flag=True, help="Say what would be run, and how long it would take.")
@click.option("--strict", is_flag=True, help="Exit with 1 unless every row is valid; skipped ones do not count.")
@click.option("--disturbed", **DISTURBED)
@QUIET
def run(**options: Any) -> None:
    """Run an experiment: a preset (see `inflight list`) or a TOML file.

    \b
    inflight run                           the preset quick
    inflight run sweep --strategies callbacks,thread_pool --rounds 1
    inflight run my-experiment.toml --list
    inflight run --resume results/20261120T101500000Z-laptop-quick
    """
    _do("commands.run", options)


@main.command(epilog=told("swarm"))
@click.option("--strategy", help="The concurrency model. [default: callbacks]", shell_complete=STRATEGY)
@click.option("--in-flight", type=click.IntRange(1, 10_000_000), help="How many fetches at once, of all processes.")
@click.option(
    "--ramp", metavar="RATE", help="Let go no more a second, e.g. 5000/s, share by share. [default: as fast as it goes]"
)
@click.option("--hold", metavar="TIME", help="Keep them waiting so long, e.g. 30s. [default: until memory is read]")
@click.option("--processes", type=click.IntRange(1, 10_000), help="Strategy processes. [default: as many as it takes]")
@click.option("--nodes", type=click.IntRange(0, 64), default=1, show_default=True, help="Locust workers started here.")
@click.option("--expect", type=click.IntRange(0, 1000), help="Locust workers that join from other machines.")
@click.option("--wait", metavar="TIME", help="How long to wait for those. [default: 60s]")
@click.option("--bind", metavar="ADDRESS", help="Where Locust's master listens. [default: 127.0.0.1]")
@click.option("--port", type=click.IntRange(1, 65_535), help="Its port. [default: 5557 with --expect, else any]")
@click.option("--join", metavar="HOST:PORT", help="Take part in the swarm of that master, and do nothing else.")
@click.option(
    "--web",
    metavar="[PORT]",
    is_flag=False,
    flag_value=8089,
    type=click.IntRange(1, 65_535),
    help="Show Locust's own page on this port of the loopback. [8089]",
)
@click.option("--plan", is_flag=True, help="Say what it would take and what binds, and run none of it.")
@click.option("--machines", type=click.IntRange(1, 1000), help="Of --plan: share the work among so many.")
@click.option(
    "--memory-budget", metavar="SIZE", help="Take no more than this, e.g. 4GB. [default: nine tenths of what is free]"
)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("results"), show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@QUIET
def swarm(**options: Any) -> None:
    """Hold very many fetches in flight at once: one strategy in many processes, each with a server, steered by Locust.

    \b
    inflight swarm --in-flight 100000
    inflight swarm --strategy thread_pool --in-flight 100000 --plan
    inflight swarm --in-flight 1000000 --plan --machines 4
    inflight swarm --join 192.0.2.1:5557   on the other machines, as --plan says

    It needs Locust: pip install 'inflight-bench[locust]'. Servers and fetches stay on the loopback of their machine.
    """
    _do("studies.swarm.command", options)


@main.command("open-loop", epilog=told("open-loop"))
@click.option("--rates", required=True, metavar="N,N,...", help="Requests a second, one trial each.")
@click.option("--seconds", type=click.FloatRange(0.1, 3600), default=10, show_default=True, help="For each rate.")
@click.option("--latency", metavar="TIME", help="What the server adds to each page. [default: 10ms]")
@click.option("--users", type=click.IntRange(1, 20_000), default=200, show_default=True, help="Most in flight.")
@click.option("--target", metavar="URL", help="Ask this URL instead of the synthetic site.")
@click.option(
    "--not-loopback", is_flag=True, help="The target is elsewhere, and whoever owns that host has permitted this."
)
@click.option("--rounds", type=click.IntRange(1, 1000), default=1, show_default=True)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("results"), show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@QUIET
def open_loop(**options: Any) -> None:
    """Send at constant rates, whatever has been answered: response times with and without what a late start hides.

    \b
    inflight open-loop --rates 500,1000,2000
    inflight open-loop --rates 50,100 --seconds 5 --target http://127.0.0.1:8000/

    It needs Locust: pip install 'inflight-bench[locust]'.
    """
    _do("studies.open_loop.command", options)


@main.command(epilog=told("limits"))
@click.argument("resources", nargs=-1, metavar="[RESOURCE...]", shell_complete=_completing("resources"))
@click.option("--predict", "only_predict", is_flag=True, help="Say what each limit allows, and try nothing of it.")
@click.option("--through-shared", is_flag=True, help="Go on to limits that stop other processes too when reached.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Keep the rows in a folder of this one.")
@QUIET
def limits(**options: Any) -> None:
    """Find how many threads, descriptors, ports, waiting connections and how much memory a process gets, and why.

    \b
    inflight limits                        all of them, in about half a minute
    inflight limits threads --predict      which limit will bind, and at how many
    inflight limits backlog ports --out results

    What is tried is tried in processes that end with it; docs/limits.md says how, and what is never done.
    """
    _do("studies.limits.command", options, "interrupted: what was begun is ended")


@main.command(epilog=told("claims"))
@click.argument("chosen", nargs=-1, metavar="[ID...]", shell_complete=_completing("claim_ids"))
@click.option("--quick", is_flag=True, help="The cheap ones only, with fewer trials: under two minutes.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--fresh", is_flag=True, help="Measure everything, whatever rows are there.")
@click.option("--free-threaded", metavar="PATH", help="An interpreter without a global lock, for the claim no-gil.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("results"), show_default=True)
@click.option(
    "--memory-budget", metavar="SIZE", help="End a trial that needs more, e.g. 4GB. [default: half of what is free]"
)
@click.option("--list", "only_list", is_flag=True, help="Say what would be tested, and how long it would take.")
@QUIET
def claims(**options: Any) -> None:
    """Test what is said of threads, coroutines and callbacks on this machine, and give each claim a verdict.

    \b
    inflight claims                        all of them, in under 20 minutes
    inflight claims --quick
    inflight claims stack-ripping          one, with its explanation
    """
    _do("studies.claims.command", options)


@main.command(epilog=told("compare"))
@click.argument("base", type=click.Path(path_type=Path), shell_complete=RUN_OR_FILE)
@click.argument("head", type=click.Path(path_type=Path), shell_complete=RUN_OR_FILE)
@click.option("--unlike", is_flag=True, help="Compare although the machines differ, without a verdict on times.")
@click.option("--all", "every", is_flag=True, help="Also list the figures that are tied, undecided or not gated.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write compare.json, compare.md and forest.png/.svg into this folder.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option(
    "--markdown", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Add the verdict to this file."
)
@QUIET
def compare(**options: Any) -> None:
    """Compare two stored runs: run folders, or two JSON files of pytest-benchmark.

    \b
    inflight compare results/20261120T101500000Z-laptop-quick results/20261121T090000000Z-laptop-quick
    inflight compare before.json after.json --markdown report.md

    Stored runs do not take turns; `inflight ab` is finer.
    """
    _do("studies.stored.command", options)


@main.command(epilog=told("ab"))
@click.argument("a", metavar="A", shell_complete=STRATEGY)
@click.argument("b", metavar="B", shell_complete=STRATEGY)
@click.option(
    "--repo",
    "repositories",
    multiple=True,
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    help="Take the strategies from this repository.",
)
@click.option("--python", "pythons", multiple=True, metavar="PATH", help="Run on this interpreter.")
@click.option(
    "--with",
    "requirements",
    multiple=True,
    metavar="REQUIREMENT",
    help="Install it into an environment of the side's own, e.g. aiohttp==3.11.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="in_flight or connection, e.g. in_flight=10."
)
@click.option(
    "--env", "variables", multiple=True, metavar="NAME=VALUE", help='Set environment variables, e.g. "A=1 B=2".'
)
@click.option("--latency", default="0", show_default=True, help="What the server adds to each page, e.g. 50ms.")
@click.option("--links", type=click.IntRange(0, 100), default=10, show_default=True, help="Links on each page.")
@click.option(
    "--cycles", type=click.IntRange(1, 1000), help="Slices of each side in a block. [default: what a first block shows]"
)
@click.option("--metrics", metavar="M,M,...", help="Only these of cpu_per_page, throughput, memory.")
@click.option("--budget", "time", metavar="TIME", help="Decide within this time, e.g. 5m. [default: 12 to 48 blocks]")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("results"), show_default=True)
@click.option(
    "--markdown", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Add the verdict to this file."
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON on standard output.")
@QUIET
def ab(**options: Any) -> None:
    """Compare two sides in blocks in which both are alive and take turns, and say whether B is worse than A.

    A side is a strategy, or strategy@revision of the git repository here or of --repo. --repo, --python, --with, --set
    and --env may be given once, for both sides, or twice, for A and then for B.

    \b
    inflight ab callbacks generators
    inflight ab callbacks@main callbacks                    what is committed, and what lies here
    inflight ab callbacks@HEAD~1 callbacks@HEAD --repo ~/my-fork --budget 5m
    inflight ab aiohttp_client aiohttp_client --with aiohttp==3.10.11 --with aiohttp==3.11.18
    inflight ab native_asyncio native_asyncio --python python3.11 --python python3.13
    inflight ab thread_pool thread_pool --set in_flight=10 --set in_flight=100
    """
    _do("studies.compare.command", options)


@main.command(epilog=told("selftest"))
@click.option(
    "--strategy",
    default="callbacks",
    show_default=True,
    help="Whose blocks tell the error rates.",
    shell_complete=STRATEGY,
)
@click.option("--quick", is_flag=True, help="Fewer blocks, one strategy: some minutes, and wide bounds.")
@click.option("--disturbed", is_flag=False, flag_value="spin", **DISTURBED)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("results"), show_default=True)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@QUIET
def selftest(**options: Any) -> None:
    """Measure this harness on this machine: noise, false alarms, what it detects, what other clients see.

    \b
    inflight selftest                      in about a quarter of an hour
    inflight selftest --quick

    What it finds is kept, and every later verdict of `inflight ab` on this machine quotes it.
    """
    _do("studies.selftest.command", options)


@main.command(epilog=told("report"))
@click.argument("folder", required=False, metavar="[RUN]", type=click.Path(path_type=Path), shell_complete=RUN)
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "md", "csv", "parquet", "json"]),
    default="html",
    show_default=True,
    help="A page; Markdown for a pull request; the rows as a table; the figures as JSON.",
)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write it there.")
@click.option("--results", type=click.Path(path_type=Path, file_okay=False), default=Path("results"), show_default=True)
@QUIET
def report(**options: Any) -> None:
    """Make one page of a stored run that explains itself, or a text or a table of it.

    \b
    inflight report                        of the newest run in results/, into its folder
    inflight report results/20261120T101500000Z-laptop-quick --out page.html
    inflight report --format md >> "$GITHUB_STEP_SUMMARY"

    The page needs no network: plots, race and the raw rows are inside of it. md, csv and json go to standard output
    without --out.
    """
    _do("commands.report", options)


@main.command(epilog=told("race"))
@click.argument("folder", required=False, metavar="[RUN]", type=click.Path(path_type=Path), shell_complete=RUN)
@click.option("--strategies", "chosen", metavar="A,B,...", help="Only these strategies.", shell_complete=STRATEGIES)
@click.option("--speed", type=click.FloatRange(0.01, 100), default=1.0, show_default=True, help="How fast to replay.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("results"), show_default=True)
@QUIET
def race(**options: Any) -> None:
    """Let the strategies crawl the same site side by side: a replay of what was recorded of each of them alone.

    \b
    inflight race                          measure the preset race, then watch it
    inflight race results/20261120T101500000Z-laptop-quick --speed 0.5

    On a terminal: space plays and pauses, + and - change the speed, the arrow keys go back and forth, q ends. The same
    race is in the page that is written.
    """
    _do("studies.race.command", options)


@main.command(epilog=told("advise"))
@click.option("--latency", required=True, metavar="TIME", help="What a page takes to come, e.g. 80ms.")
@click.option("--cpu", default="0", show_default=True, metavar="TIME", help="What you compute for a page, e.g. 2ms.")
@click.option("--in-flight", type=click.IntRange(1, 1_000_000), required=True, help="How many pages at once.")
@click.option(
    "--from",
    "folder",
    metavar="RUN",
    type=click.Path(path_type=Path),
    help="The run to go by. [default: the newest of this machine]",
    shell_complete=RUN,
)
@click.option("--verify", is_flag=True, help="Measure that very point, and say how far off the advice was.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("results"), show_default=True)
@QUIET
def advise(**options: Any) -> None:
    """Say which model fits a workload, what to expect of it, and how sure that is.

    \b
    inflight advise --latency 80ms --cpu 2ms --in-flight 500
    inflight advise --latency 5ms --in-flight 50 --verify

    It goes by the CPU time per page on this machine, which it measures in about 20 s if no stored run has it.
    """
    _do("studies.advice.command", options)


@main.command("list", epilog=told("list"))
def list_() -> None:
    """Show the strategies, and the presets that `inflight run` knows.

    \b
    inflight list
    """
    _do("commands.listing", {})


@main.command(epilog=told("completion"))
@click.argument("shell", required=False, metavar="[bash|zsh|fish]", type=click.Choice(["bash", "zsh", "fish"]))
def completion(**options: Any) -> None:
    """Print the script that lets a shell complete commands, options, strategies, presets and runs.

    \b
    inflight completion                    for the shell that $SHELL names
    eval "$(inflight completion bash)"     the line for ~/.bashrc; ~/.zshrc takes the same with zsh
    inflight completion fish > ~/.config/fish/completions/inflight.fish
    """
    _do("commands.completion", options)


def _do(module: str, options: dict[str, Any], interrupted: str = "interrupted") -> NoReturn:
    """Run the command of a module, which is imported only now, and exit with its code."""
    try:
        if module in READING and (short := address_space.shortage()) is not None:
            _refuse(short)
        command = importlib.import_module(f"inflight.bench.{module}")
        try:
            with hushed() if options.pop("quiet", False) else nullcontext():
                code = command.run(**options)
            sys.exit(code)
        except command.REFUSALS as error:
            _refuse(str(error))
    except KeyboardInterrupt:
        complain(interrupted)
        sys.exit(INTERRUPTED)


def _refuse(sentence: str) -> NoReturn:
    complain(f"inflight: {sentence}")
    sys.exit(REFUSED)
