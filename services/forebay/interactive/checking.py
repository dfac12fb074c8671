"""Checks of the keyword arguments of `forebay.run`, which are those of the options of `forebay run`."""

from __future__ import annotations

from collections.abc import Mapping

import click

from forebay.cli.run import run
from forebay.interactive.commands import words
from forebay.utils.spelling import did_you_mean


def check_options(options: Mapping[str, object]) -> dict[str, object]:
    """Return the options that must be passed to `forebay run`, in the order of the arguments.

    Raises:
        TypeError: There is no such option.
        ValueError: The option does not accept this value. The message says which values it accepts.
    """
    known = _known()
    context = click.Context(run)
    checked: dict[str, object] = {}
    for name, value in options.items():
        if name not in known:
            hint = did_you_mean(name, known) or "; its options are those of `forebay run --help`"
            raise TypeError(f"forebay.run() has no option {name!r}{hint}")
        if value is not None and _is_passed(known[name], name, value, context):
            checked[name] = value
    return checked


def _known() -> dict[str, click.Option]:
    """Return the command's options by their keyword arguments."""
    options = [parameter for parameter in run.params if isinstance(parameter, click.Option)]
    return {option.opts[0].lstrip("-").replace("-", "_"): option for option in options}


def _is_passed(option: click.Option, name: str, value: object, context: click.Context) -> bool:
    """Return whether the option must be on the command line to have this value. Raise ValueError if it is invalid."""
    if option.is_flag:
        if not isinstance(value, bool):
            raise ValueError(f"{name}={value!r}: must be True or False")
        return value or bool(option.secondary_opts)
    if isinstance(value, bool):
        raise ValueError(f"{name}={value!r}: takes a value, not True or False; see `forebay run --help`")
    if isinstance(value, (Mapping, list, tuple)) and not option.multiple:
        raise ValueError(f"{name}={value!r}: takes one value")
    texts = tuple(words(name, value))[1::2]
    try:
        option.process_value(context, texts if option.multiple else texts[0])
    except click.UsageError as error:
        raise ValueError(f"{name}={value!r}: {error.message}") from None
    return True
