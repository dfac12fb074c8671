"""Converts records of `<application>.errors` to the input records that they were."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import Message

from forebay.limits.room import FRAME_BYTES, HEADER_BYTES
from forebay.processor.messages import Headers
from forebay.runtime.changelog.topics import repartition_topic

_LONGEST = 200
_NUMBERED = re.compile(r"[\w.-]*\d[\w.-]*")
_FIRST_FACT = "error.class"
"""The job's own headers follow the record's headers, and begin with this one (forebay.processor.side_topics)."""
_REPARTITION = repartition_topic("", "").lstrip("-")


@dataclass(frozen=True, slots=True)
class Again:
    """A record to send again; `timestamp` in ms, None if it had none."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    timestamp: int | None
    headers: Headers


class Unfit(Exception):
    """A record can't be sent again as it was. The message contains the reason."""


class NoInput(Unfit):
    """A record failed in a topic that the job, as it is declared and started, does not read."""

    def __init__(self, topic: str) -> None:
        super().__init__(f"{topic}, where it failed, is not an input of the job")
        self.topic = topic


class TooLarge(Unfit):
    """A record is larger than its topic allows."""

    def __init__(self, offset: int | None, errors: str, topic: str) -> None:
        super().__init__(
            f"the record at offset {offset} of {errors} is larger than max.message.bytes of {topic}: raise the limit, "
            "and send it with another client"
        )


def fits(record: Again, max_bytes: int) -> bool:
    """Return whether a topic with this max.message.bytes accepts a record, at least compressed."""
    parts = [record.key or b"", record.value or b""]
    for name, value in record.headers:
        parts += [name.encode(), value or b"", bytes(HEADER_BYTES)]
    most = max_bytes - FRAME_BYTES
    return sum(map(len, parts)) <= most or len(zlib.compress(b"".join(parts))) <= most


def again(message: Message, inputs: Mapping[str, int]) -> Again:
    """Return the input record that a record of `.errors` was. Raises Unfit.

    Args:
        inputs: the job's input topics with their numbers of partitions.
    """
    headers: Headers = list(message.headers() or ())  # type: ignore[arg-type]
    at = max((place for place, (name, _) in enumerate(headers) if name == _FIRST_FACT), default=-1)
    if at < 0:
        raise Unfit("it has no header error.class: the job did not write it")
    facts = {name: (value or b"").decode(errors="replace") for name, value in headers[at:]}
    for name in ("error.shortened", "error.headers"):
        if name in facts:
            raise Unfit(f"parts of it were left out ({name}): send the original again, from its input topic")
    if "error.timer" in facts or not facts.get("error.topic"):
        raise Unfit("a timer failed, not a record: the timer runs again at its next time")
    topic = facts["error.topic"]
    if topic not in inputs and topic.endswith(_REPARTITION):
        raise Unfit(
            f"it failed after the repartition topic {topic}: send the input record again from which it was made"
        )
    if topic not in inputs:
        raise NoInput(topic)
    try:
        partition, timestamp = int(facts["error.partition"]), int(facts["error.timestamp"])
    except (KeyError, ValueError):
        raise Unfit("its headers error.partition and error.timestamp are not numbers") from None
    if not 0 <= partition < inputs[topic]:
        raise Unfit(f"its partition {partition} does not exist any more: {topic} has {inputs[topic]} partitions")
    if not timestamp:
        raise Unfit("its timestamp is 0, which Kafka's client writes as the present: send it with another client")
    return Again(topic, partition, message.key(), message.value(), timestamp if timestamp >= 0 else None, headers[:at])


def reason_of(message: Message) -> str:
    """Return why a record failed, in a few words, without the names and numbers in the text."""
    facts: dict[str, str | bytes | None] = dict(message.headers() or ())
    values = (facts.get(f"error.{name}") for name in ("stage", "class", "message"))
    texts = [text.decode(errors="replace") if isinstance(text, bytes) else text or "?" for text in values]
    said = _NUMBERED.sub("…", " ".join(texts[2].split()))
    return f"{texts[0]}: {texts[1]}: {said[:_LONGEST]}"
