"""The description of each argument can be extracted from a docstring, to be shown to operators."""

from forebay.utils.docstrings import described_arguments


class Described:
    """Does things.

    Args:
        first: one line.
        second, third: two
            lines: really.

    Raises:
        ValueError: never.
    """


class Undescribed:
    pass


def test_arguments() -> None:
    assert described_arguments(Described) == {
        "first": "one line.",
        "second": "two lines: really.",
        "third": "two lines: really.",
    }


def test_none() -> None:
    assert described_arguments(Undescribed) == {}
