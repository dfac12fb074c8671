"""A whole run against librdkafka's mock broker: the topic holds exactly the generated records."""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer

from forebay.producing.base import Generator, Options
from forebay.producing.frames import Frames
from forebay.producing.run import produce
from forebay.producing.sources import generate, source_of
from forebay.serde import AvroCodec, LocalSchemas, Schema, load_contract
from user_sessions.model import UserActivity

pytestmark = pytest.mark.long

TOPIC = "user_activity"
OPTIONS = Options(count=3000, keys=50, out_of_order=0.05, duplicates=0.05, malformed=0.05)


@pytest.fixture
def broker() -> Iterator[str]:
    """Yield the address of a mock broker that lives as long as its client."""
    client = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "ignored", "log_level": 0})
    (node,) = client.list_topics(timeout=10).brokers.values()
    yield f"{node.host}:{node.port}"
    client.flush()


def consume(address: str, count: int) -> list[Message]:
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "test",
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    consumer.subscribe([TOPIC])
    messages: list[Message] = []
    while len(messages) < count:
        batch = consumer.consume(count - len(messages), timeout=10)
        assert batch, f"{len(messages)} of {count} records arrived"
        messages += batch
    consumer.close()
    return messages


def test_the_topic_holds_what_the_options_give(broker: str) -> None:
    schemas = LocalSchemas()
    codec = AvroCodec(UserActivity, schemas.register(load_contract("user-sessions", "UserActivity")), schemas)
    subjects: list[str] = []

    def register(subject: str, text: str) -> int:
        subjects.append(subject)
        return schemas.register(Schema(text)).schema_id

    sent = produce(TOPIC, OPTIONS, {"bootstrap.servers": broker}, codec, register)
    assert (sent.records, sent.failed) == (3000, 0)
    assert set(subjects) == {
        f"{TOPIC}.malformed.{kind}-value" for kind in ("missing-field", "null-field", "wrong-type")
    }

    frames = Frames(codec.encode, load_contract("user-sessions", "UserActivity").text, "session_id", register)
    expected = [(*frames.frame(event), event.timestamp) for event in generate(TOPIC, OPTIONS)]
    rows = [(m.key(), m.value(), m.timestamp()[1]) for m in consume(broker, 3000)]
    assert sorted(rows, key=repr) == sorted(expected, key=repr)
    for key in {key for key, _, _ in expected if key is not None}:
        assert [f for f in rows if f[0] == key] == [e for e in expected if e[0] == key]


def test_events_begin_when_they_can_be_sent(broker: str) -> None:
    schemas = LocalSchemas()
    codec = AvroCodec(UserActivity, schemas.register(load_contract("user-sessions", "UserActivity")), schemas)
    answered: list[int] = []

    def register(_subject: str, text: str) -> int:
        time.sleep(0.01)  # the registry's response time must not add to the events' age
        answered.append(time.time_ns() // 1_000_000)
        return schemas.register(Schema(text)).schema_id

    options = Options(count=1, rate=1_000, malformed=0.05)
    produce(TOPIC, options, {"bootstrap.servers": broker}, codec, register)
    (first,) = consume(broker, 1)
    assert first.timestamp()[1] >= answered[-1]


def test_events_begin_when_a_large_population_is_made(broker: str, monkeypatch: pytest.MonkeyPatch) -> None:
    schemas, result = LocalSchemas(), list[int]()
    codec = AvroCodec(UserActivity, schemas.register(load_contract("user-sessions", "UserActivity")), schemas)
    source = source_of(TOPIC)

    def slow(options: Options) -> Generator[Any]:
        time.sleep(0.05)
        result.append(time.time_ns() // 1_000_000)
        return source.generator(options)

    monkeypatch.setattr("forebay.producing.run.source_of", lambda _: replace(source, generator=slow))
    produce(TOPIC, Options(count=1, rate=1_000), {"bootstrap.servers": broker}, codec, lambda _subject, _text: 0)
    (first,) = consume(broker, 1)
    assert first.timestamp()[1] >= result[-1]


def test_a_key_goes_where_java_producers_send_it(broker: str) -> None:
    codec_schemas = LocalSchemas()
    contract = codec_schemas.register(load_contract("user-sessions", "UserActivity"))
    codec = AvroCodec(UserActivity, contract, codec_schemas)
    produce(TOPIC, Options(count=200, keys=20), {"bootstrap.servers": broker}, codec, lambda _subject, _text: 0)
    messages = consume(broker, 200)
    partitions = len({m.partition() for m in messages})
    assert partitions > 1
    for message in messages:
        key = message.key()
        assert key is not None
        assert message.partition() == (murmur2(bytes(key)) & 0x7FFFFFFF) % 4


def murmur2(data: bytes) -> int:
    """Kafka's hash of keys (Apache Kafka, Utils.murmur2)."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = (0x9747B28C ^ len(data)) & mask
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = (h * m & mask) ^ k
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15
