"""The commands: parse, call one function, exit code. What they need is imported when they are called.

Exit codes: 0 done; 1 a run with no valid row; 2 usage, or something here forbids it; 130 Ctrl-C.
"""

import sys
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NoReturn

import click

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(context_settings=CONTEXT)
@click.version_option(version("inflight-bench"), prog_name="inflight")
def main() -> None:
    """Compare Python concurrency models: the same crawl of the same local site, one thing different.

    \b
    inflight run quick                     every strategy side by side, in about a minute
    inflight crawl http://HOST/ --strategy callbacks
    inflight serve --delay 50ms            the synthetic site, for your own client
    inflight list                          strategies and presets
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without "µ" shows "?", and nothing is lost for it


@main.command(
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    short_help="Serve the synthetic site until Ctrl-C.",
)
@click.pass_context
def serve(context: click.Context) -> None:
    """Serve the synthetic site until Ctrl-C; the options are those of ``python -m fake_server``."""
    from fake_server.__main__ import main as serve_site

    sys.exit(serve_site(context.args, prog="inflight serve"))


@main.command()
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("--strategy", default="callbacks", show_default=True, help="The concurrency model to crawl with.")
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
def crawl(urls: tuple[str, ...], *, as_json: bool, **options: Any) -> None:
    """Crawl plain-http sites from the given URLs and report every URL on a line of its own.

    \b
    inflight crawl http://localhost:8080/
    inflight crawl http://localhost:8080/ --strategy native_asyncio --max-in-flight 10 --json
    """
    try:
        from bench import crawl as command

        job = command.job(urls, **options)
        sys.exit(command.run(options["strategy"], job, as_json=as_json))
    except KeyboardInterrupt:
        click.echo("interrupted: the crawl was not finished", err=True)
        sys.exit(130)
    except command.CrawlError as error:
        _refuse(str(error))


@main.command()
@click.argument("experiment", required=False)
@click.option("--strategies", "chosen", metavar="A,B,...", help="Only these strategies.")
@click.option("--rounds", type=click.IntRange(1, 1000), help="How often each trial is repeated.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), help="Decides the order of the trials.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("results"), show_default=True)
@click.option("--resume", metavar="FOLDER", type=click.Path(path_type=Path), help="Go on with an interrupted run.")
@click.option(
    "--memory-budget", metavar="SIZE", help="End a trial that needs more, e.g. 4GB. [default: half of what is free]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON on standard output.")
@click.option("--list", "only_list", is_flag=True, help="Say what would be run, and how long it would take.")
def run(experiment: str | None, **options: Any) -> None:
    """Run an experiment: a preset (see `inflight list`) or a TOML file.

    \b
    inflight run                           the preset quick
    inflight run sweep --strategies callbacks,thread_pool --rounds 1
    inflight run my-experiment.toml --list
    inflight run --resume results/20261120T101500000Z-laptop-quick
    """
    try:
        from bench import commands

        sys.exit(commands.run(experiment, **options))
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except commands.REFUSALS as error:
        _refuse(str(error))


@main.command()
@click.argument("resources", nargs=-1, metavar="[RESOURCE...]")
@click.option("--predict", "only_predict", is_flag=True, help="Say what each limit allows, and try nothing of it.")
@click.option("--through-shared", is_flag=True, help="Go on to limits that stop other processes too when reached.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Keep the rows in a folder of this one.")
def limits(**options: Any) -> None:
    """Find how many threads, descriptors, ports, waiting connections and how much memory a process gets, and why.

    \b
    inflight limits                        all of them, in about half a minute
    inflight limits threads --predict      which limit will bind, and at how many
    inflight limits backlog ports --out results

    What is tried is tried in processes that end with it; docs/limits.md says how, and what is never done.
    """
    try:
        from bench import limits_command as command

        sys.exit(command.run(command.Asked(**options)))
    except KeyboardInterrupt:
        click.echo("interrupted: what was begun is ended", err=True)
        sys.exit(130)
    except command.REFUSALS as error:
        _refuse(str(error))


@main.command()
@click.argument("chosen", nargs=-1, metavar="[ID...]")
@click.option("--quick", is_flag=True, help="The cheap ones only, with fewer trials: under two minutes.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--fresh", is_flag=True, help="Measure everything, whatever rows are there.")
@click.option("--free-threaded", metavar="PATH", help="An interpreter without a global lock, for the claim no-gil.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("results"), show_default=True)
@click.option(
    "--memory-budget", metavar="SIZE", help="End a trial that needs more, e.g. 4GB. [default: half of what is free]"
)
@click.option("--list", "only_list", is_flag=True, help="Say what would be tested, and how long it would take.")
def claims(**options: Any) -> None:
    """Test what is said of threads, coroutines and callbacks on this machine, and give each claim a verdict.

    \b
    inflight claims                        all of them, in under 20 minutes
    inflight claims --quick
    inflight claims stack-ripping          one, with its explanation
    """
    try:
        from bench import claims_command as command

        sys.exit(command.run(command.Asked(**options)))
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        sys.exit(130)
    except command.REFUSALS as error:
        _refuse(str(error))


@main.command("list")
def list_() -> None:
    """Show the strategies, and the presets that `inflight run` knows."""
    from bench import commands

    try:
        commands.show_list()
    except commands.REFUSALS as error:
        _refuse(str(error))


def _refuse(sentence: str) -> NoReturn:
    click.echo(f"inflight: {sentence}", err=True)
    sys.exit(2)
