"""Wrong usage of the command line: each error of click as one sentence."""

import click


def sentence(error: click.ClickException) -> str:
    """Return what is wrong, where, and what to do: ``inflight run: no such option --round; did you mean --rounds?``."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    path = "inflight" if context is None else context.command_path
    return f"{path}: {_told(error)}{_advice(error, path)}"


def _told(error: click.ClickException) -> str:
    if isinstance(error, click.MissingParameter):
        return f"{_place(error)} is missing"
    if isinstance(error, click.BadParameter):
        return f"{_place(error)}: {error.message.rstrip('.')}"
    text = error.message.rstrip(".")
    return (text[:1].lower() + text[1:]).replace("'", "")


def _place(error: click.BadParameter) -> str:
    """Return the option or the argument that an error is about, as it is typed."""
    if error.param is None:
        return "the command line"
    if isinstance(error.param, click.Argument):
        return error.param.human_readable_name.strip("[]")
    return max(error.param.opts, key=len)


def _advice(error: click.ClickException, path: str) -> str:
    if near := getattr(error, "possibilities", None):
        return f"; did you mean {near[0]}?"
    if isinstance(error, click.BadParameter) and not isinstance(error, click.MissingParameter):
        return ""
    return f"; see `{path} --help`"
