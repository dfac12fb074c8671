"""`forebay.run` checks its keyword arguments when it is called, as `forebay run` checks its options."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import click
import pytest

import forebay
from forebay.cli.run import run
from forebay.interactive.checking import check_options
from forebay.interactive.options import RunOptions

OPTIONS = {
    option.opts[0].lstrip("-").replace("-", "_"): option for option in run.params if isinstance(option, click.Option)
}


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ({"slot": 2}, r"forebay.run\(\) has no option 'slot'; did you mean 'slots'\?"),
        ({"bootstrap_server": "x"}, "did you mean 'bootstrap_servers'"),
        ({"qqqqqqq": 2}, "its options are those of `forebay run --help`"),
    ],
)
def test_an_unknown_option_is_refused_before_anything_starts(
    option: dict[str, Any], error: str, tmp_path: Path
) -> None:
    with pytest.raises(TypeError, match=error):
        forebay.run("user-sessions", home=tmp_path, **option)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", OPTIONS)
def test_a_value_that_the_command_line_refuses_is_refused(name: str) -> None:
    option = OPTIONS[name]
    wrong: object = "yes" if option.is_flag else True
    with pytest.raises(ValueError, match=f"{name}={wrong!r}"):
        check_options({name: wrong})
    if not option.is_flag and not option.multiple:
        with pytest.raises(ValueError, match="takes one value"):
            check_options({name: [1, 2]})
    if isinstance(option.type, click.IntRange | click.FloatRange | click.Choice):
        with pytest.raises(ValueError, match=f"{name}='x': 'x' is not "):
            check_options({name: "x"})


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("commit_interval_ms", -1, "-1 is not in the range 0<=x<=60000"),
        ("starting_offsets", "yesterday", "specify earliest, latest, or a time"),
        ("accept_gap", ["a:b"], "use a topic, or a topic and a partition"),
        ("conf", ["x"], "is not NAME=VALUE"),
    ],
)
def test_the_error_says_which_values_there_are(name: str, value: object, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        check_options({name: value})


def test_options_of_the_command_line_are_passed() -> None:
    given = {"slots": 2, "restore": False, "check": False, "application": None, "conf": {"spark.a": 1}}
    assert check_options(given) == {"slots": 2, "check": False, "conf": {"spark.a": 1}}


def test_types_of_the_options_are_those_of_the_command_line() -> None:
    hints = get_type_hints(RunOptions)
    # These options have their own parameters in forebay.run.
    assert {*hints, "home", "set"} == OPTIONS.keys()
    for name, hint in hints.items():
        option = OPTIONS[name]
        if isinstance(option.type, click.Choice):
            assert get_origin(hint) is Literal
            assert get_args(hint) == tuple(option.type.choices)
        kinds = get_args(hint) or (hint,)
        assert (bool in kinds) == option.is_flag
        assert (float in kinds) == isinstance(option.type, click.FloatRange)
        if isinstance(option.type, click.IntRange):
            assert int in kinds
