"""The expected results of the service of docs/new-service.md: a count after each view."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from topic_reading import Decoder, read_topic

from forebay.kafka.settings import KafkaSettings


def check_counts(settings: KafkaSettings) -> int:
    """Compare the outputs with the views in the input, and return the number of views."""
    views = _values(settings, "page_views")
    expected: dict[str, Counter[str]] = defaultdict(Counter)
    for site, view in views:
        expected[site][view["page"]] += 1
    outputs = [value for _, value in _values(settings, "page_counts")]
    last = {(v["site"], v["page"]): v["page_views"] for v in outputs}
    totals = {v["site"]: v["site_views"] for v in outputs}
    assert len(outputs) == len(views)
    assert last == {(site, page): count for site, pages in expected.items() for page, count in pages.items()}
    assert totals == {site: pages.total() for site, pages in expected.items()}
    return len(outputs)


def number_of(settings: KafkaSettings, topic: str) -> int:
    """Return the number of committed records in a topic."""
    return sum(len(partition) for partition in read_topic(settings, topic).values())


def _values(settings: KafkaSettings, topic: str) -> list[tuple[str, dict[str, Any]]]:
    """Return keys and records of a topic, in order within each partition."""
    decode = Decoder(settings.schema_registry_url).decode
    messages = [message for partition in read_topic(settings, topic).values() for message in partition]
    return [((message.key() or b"").decode(), decode(message.value() or b"")) for message in messages]
