"""Gaps in input topics that an operator accepts: records that were deleted before the job read them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


class WrongGap(ValueError):
    """A text names no topic or partition. The message says what to write."""


@dataclass(frozen=True, slots=True)
class AcceptedGaps:
    """Topics, and partitions of topics, whose lost records the user accepts.

    Args:
        topics: topics whose partitions all count.
        partitions: single partitions, by topic and number.
    """

    topics: frozenset[str] = frozenset()
    partitions: frozenset[tuple[str, int]] = frozenset()

    @classmethod
    def parse(cls, texts: Iterable[str]) -> AcceptedGaps:
        """Return the gaps named by texts such as `clicks`, `orders:3` or both with a comma. Raises WrongGap."""
        topics, partitions = set(), set()
        for text in (part.strip() for value in texts for part in value.split(",")):
            topic, colon, number = text.partition(":")
            if not topic or (colon and not (number.isascii() and number.isdecimal())):
                raise WrongGap(f"{text!r}: use a topic, or a topic and a partition, such as orders:3")
            if colon:
                partitions.add((topic, int(number)))
            else:
                topics.add(topic)
        return cls(frozenset(topics), frozenset(partitions))

    def __contains__(self, place: tuple[str, int]) -> bool:
        return place[0] in self.topics or place in self.partitions

    @property
    def all_topics(self) -> frozenset[str]:
        """Names of all topics with accepted gaps."""
        return self.topics | {topic for topic, _ in self.partitions}


NO_GAPS = AcceptedGaps()
