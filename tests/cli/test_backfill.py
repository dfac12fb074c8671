"""The sources of a backfill's history are parsed from the command line, or rejected."""

from __future__ import annotations

import click
import pytest

from forebay.catalog import Service, Topic
from forebay.cli.backfill import histories


def service(*inputs: str) -> Service:
    return Service("two", "a test's own", tuple(Topic(name) for name in inputs), (), {}, "tests.none")


def test_the_only_input_need_not_be_named() -> None:
    assert histories(service("orders"), ("parquet:/lake/day=1",)) == {"orders": "parquet:/lake/day=1"}
    assert histories(service("orders"), ("topic",)) == {"orders": "topic"}


def test_each_input_has_its_source() -> None:
    sources = ("orders=parquet:s3a://lake/orders", "prices=topic", "towns=none")
    assert histories(service("orders", "prices", "towns"), sources) == {
        "orders": "parquet:s3a://lake/orders",
        "prices": "topic",
        "towns": "none",
    }


@pytest.mark.parametrize(
    ("sources", "hint"),
    [
        (("parquet:/lake",), "write TOPIC=parquet:/lake"),
        (("orders=parquet",), "write FORMAT:PATH"),
        (("orders=parquet:",), "write FORMAT:PATH"),
        (("orders=:/lake",), "write FORMAT:PATH"),
        (("orders=topic", "orders=none"), "orders has two sources"),
        (("order=topic",), "two reads no topic order; did you mean 'orders'"),
    ],
)
def test_an_invalid_source_is_refused(sources: tuple[str, ...], hint: str) -> None:
    with pytest.raises(click.UsageError, match=hint):
        histories(service("orders", "prices"), sources)
