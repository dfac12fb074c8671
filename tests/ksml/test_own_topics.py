"""A pipeline may read a topic that another one writes with different types, if it can decode the records."""

from __future__ import annotations

import pytest

from tests.ksml.running import driver, refusal

TEXT = """
streams:
  src: {{topic: src, keyType: string, valueType: json}}
  mid: {{topic: mid, keyType: string, valueType: {read}}}
  out: {{topic: out, keyType: string, valueType: {read}}}
pipelines:
  write:
    from: src
    to: {{topic: mid, keyType: string, valueType: {written}}}
  read:
    from: mid
    to: out
"""


@pytest.mark.parametrize(
    ("written", "read", "given", "shown"),
    [
        ("json", "string", {"a": 1}, '{"a":1}'),
        ("json", "bytes", {"a": 1}, b'{"a":1}'),
        ("string", "json", {"a": 1}, {"a": 1}),
        ("long", "long", 5, 5),
    ],
)
def test_topic_is_written_and_read_with_the_declared_types(
    written: str, read: str, given: object, shown: object
) -> None:
    run = driver(TEXT.format(written=written, read=read))
    run.pipe("k", given, "src")
    assert run.driver.errors == []
    assert run.sent[-1].value == shown
    assert len(run.sent) == 2


@pytest.mark.parametrize(("written", "read"), [("json", "long"), ("long", "int"), ("string", "long"), ("xml", "json")])
def test_types_that_can_not_be_read_are_refused_with_both_lines(written: str, read: str) -> None:
    message = refusal(TEXT.format(written=written, read=read))
    assert message.startswith("test.yaml:10: topic mid is read as ")
    assert "at test.yaml:9" in message


def test_two_streams_of_one_topic_must_have_one_type() -> None:
    text = """
    streams:
      one: {topic: src, keyType: string, valueType: json}
      other: {topic: src, keyType: string, valueType: string}
    pipelines:
      a: {from: one, to: {topic: x}}
      b: {from: other, to: {topic: y}}
    """
    assert "the valueType of topic src is string here and json at test.yaml:3" in refusal(text)
