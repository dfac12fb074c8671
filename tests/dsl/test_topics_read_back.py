"""A topic that a topology both writes and reads has the writer's formats, which the reader must be able to decode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from forebay.builder import Topology, TopologyError, job
from forebay.builder.notebook_view import NoSettings
from forebay.formats import BYTES, INT, LONG, Format
from forebay.serde.json_format import JSON, json_of
from forebay.testing import TestDriver


@dataclass(frozen=True, slots=True)
class Sent:
    n: int
    s: int


@dataclass(frozen=True, slots=True)
class Seen:
    n: int


def write(t: Topology, value: Any, key: Any = str) -> None:
    t.stream("in", str).map(lambda k, v: (key_of(key, k), Sent(len(v), 7)), value, key).to("mid")


def key_of(kind: Any, text: str) -> Any:
    return text if kind is str else len(text)


@pytest.mark.parametrize("is_reader_first", [False, True])
@pytest.mark.parametrize(
    ("written", "read"),
    [(Sent, Seen), (json_of(Sent), json_of(Seen)), (json_of(Sent), Seen), (Sent, JSON), (json_of(Sent), LONG)],
)
def test_values_that_the_reader_can_not_read_are_refused_with_both_lines(
    written: Any, read: Any, is_reader_first: bool
) -> None:
    t = Topology()
    steps: list[Callable[[], object]] = [lambda: write(t, written), lambda: t.stream("mid", read)]
    if is_reader_first:
        steps.reverse()
    steps[0]()
    with pytest.raises(TopologyError, match=r"^test_topics_.*topic mid is read as .* and written as .*") as refused:
        steps[1]()
    assert str(refused.value).count("test_topics_read_back.py:") == 2


@pytest.mark.parametrize(("written", "read"), [(int, str), (str, int), (LONG, INT)])
def test_keys_that_the_reader_can_not_read_are_refused(written: Any, read: Any) -> None:
    t = Topology()
    write(t, json_of(Sent), written)
    with pytest.raises(TopologyError, match=r"topic mid is read as"):
        t.stream("mid", json_of(Sent), key=read)


def test_reader_without_the_key_format_of_the_writer_is_refused() -> None:
    t = Topology()
    write(t, json_of(Sent), int)
    with pytest.raises(TopologyError, match=r"read as text keys .* written as long keys"):
        t.stream("mid", json_of(Sent))


@pytest.mark.parametrize(
    ("read", "key", "shown"),
    [
        (json_of(Sent), str, "Sent(n=3, s=7)"),
        (JSON, str, "{'n': 3, 's': 7}"),
        (str, str, """'{"n":3,"s":7}'"""),
        (bytes, bytes, """b'{"n":3,"s":7}'"""),
    ],
)
@pytest.mark.parametrize("is_reader_first", [False, True])
def test_topic_is_written_and_read_with_the_declared_formats(
    read: Any, key: Any, shown: str, is_reader_first: bool
) -> None:
    t = Topology()

    def reads() -> None:
        t.stream("mid", read, key=key).map_values(lambda k, v: f"{k!r} {v!r}", str).to("out")

    steps = [lambda: write(t, json_of(Sent)), reads]
    for step in reversed(steps) if is_reader_first else steps:
        step()
    driver = TestDriver(t)
    driver.pipe("k", "abc", "in")
    mid, out = driver.outputs
    assert (mid.key, mid.value) == ("k", Sent(3, 7))
    assert out.value == f"{'k' if key is str else b'k'!r} {shown}"
    assert driver.errors == []


def test_keys_and_contract_of_a_topic_are_its_writer_s_when_it_is_read_as_bytes() -> None:
    t = Topology()
    write(t, Sent, int)
    t.stream("mid", BYTES, key=BYTES).to("copy")
    result = job(NoSettings, lambda _: t)
    assert result.contract("mid", result.outputs["mid"]) == result.contract("mid", result.inputs["mid"]) == "Sent"
    kinds: tuple[Format[Any], ...] = (result.format_of("mid").key, result.read_format_of("mid").key)
    assert kinds == (LONG, BYTES)
