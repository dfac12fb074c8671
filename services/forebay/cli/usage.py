"""Error messages for a wrong command line."""

from __future__ import annotations

import click

from forebay.utils.spelling import did_you_mean

_FEW = 6
"""The most options that are listed if none is similar to an unknown option."""


def explain(error: click.UsageError) -> str:
    """Return one line with the mistake, a suggestion if an option is unknown, and the --help to read."""
    context = error.ctx
    message = error.format_message().rstrip(".")
    path = context.command_path if context else "forebay"
    if isinstance(error, click.NoSuchOption) and context:
        options = [name for parameter in context.command.get_params(context) for name in _long_names(parameter)]
        message = f"{path} has no option {error.option_name}{_meant(error.option_name, options)}"
    if isinstance(error, click.BadParameter) and error.param and isinstance(error.param.type, click.IntRange):
        message += f" (a whole number{_range(error.param.type)})"
    end = "" if message.endswith("?") else "."
    return f"{message}{end} See `{path} --help`."


def _meant(name: str, options: list[str]) -> str:
    few = f"; its options are {', '.join(options)}" if len(options) <= _FEW else ""
    return did_you_mean(name, options) or few


def _range(numbers: click.IntRange) -> str:
    low, high = numbers.min, numbers.max
    if low is not None and high is not None:
        return f" from {low} to {high}"
    return f", {low} or more" if low is not None else f", {high} or less" if high is not None else ""


def _long_names(parameter: click.Parameter) -> list[str]:
    if not isinstance(parameter, click.Option):
        return []
    return [name for name in (*parameter.opts, *parameter.secondary_opts) if name.startswith("--")]
