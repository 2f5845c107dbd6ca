"""``inflight`` without a command, and the commands in ``inflight --help``: in the order in which one needs them."""

import click

ABOUT = "Compare concurrency models of Python: each crawls the same local site."
FIRST = """\
  inflight demo                   ten seconds: one page at a time against many
  inflight run quick              compare five models and aiohttp here
  inflight check ./my_client.py   test a client that you have written"""
"""The three things that one can do first."""
WELCOME = f"{ABOUT} Begin with one of:\n\n{FIRST}\n\nAll commands: inflight --help"
HELP = "\n".join([ABOUT, "", "\b", *(line.strip() for line in FIRST.splitlines())])

PARTS = {
    "First": ("demo", "run", "report", "race", "list"),
    "Choose a model": ("advise", "claims", "limits"),
    "Write a client": ("check", "crawl", "serve"),
    "Find slowdowns": ("ab", "compare", "selftest"),
    "Large loads": ("swarm", "open-loop"),
}
"""The headings of the list, each with its commands."""


class InParts(click.Group):
    """A group whose help lists its commands under the headings of ``PARTS``."""

    def list_commands(self, context: click.Context) -> list[str]:  # noqa: ARG002  (click passes it)
        """Return the commands in the order of the parts."""
        return [name for part in PARTS.values() for name in part]

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each part with the first sentence of each command's help."""
        width = max(map(len, self.list_commands(context)))
        room = formatter.width - formatter.indent_increment - width - 4
        for heading, names in PARTS.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [(f"{name:{width}}", self.commands[name].get_short_help_str(room)) for name in names]
                )
