"""If several topics are read, each record is decoded with the writers' schemas of its own topic's subject."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import fastavro
import pytest

from forebay.codec import DecodeError
from forebay.kafka.registry import SchemaRegistry
from forebay.kafka.settings import KafkaSettings
from forebay.serde.framing import header
from forebay.spark.decoding import choose_decoding
from forebay.spark.errors import OptionError
from forebay.spark.source_options import PartOptions
from tests.kafka.registry_double import RegistryDouble, running

OLD = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}
NEW = {"type": "record", "name": "R", "fields": [*OLD["fields"], {"name": "n", "type": "int", "default": 5}]}
OTHER = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "string"}]}
IDS = {1: OLD, 2: NEW, 3: OTHER}


@pytest.fixture
def registry() -> Iterator[RegistryDouble]:
    with running() as double:
        for schema_id, schema in IDS.items():
            double.answer(f"GET /schemas/ids/{schema_id}", (200, {"schema": json.dumps(schema)}))
        for topic in "ab":
            newest = {"id": 2, "schema": json.dumps(NEW)}
            double.answer(f"GET /subjects/{topic}-value/versions/latest", (200, newest))
        double.answer("POST /subjects/b-value?deleted=true", (200, {"id": 1}))
        yield double


def record(schema_id: int, value: Any) -> bytes:
    data = BytesIO()
    fastavro.schemaless_writer(data, fastavro.parse_schema(IDS[schema_id]), value)
    return header(schema_id) + data.getvalue()


def readers(double: RegistryDouble, **options: Any) -> Any:
    settings = KafkaSettings(bootstrap_servers="b:1", schema_registry_url=double.url)
    part = PartOptions(**{"format": "auto", "subject": "", "schema_id": 0, "message": "", **options})
    decoding = choose_decoding(SchemaRegistry(settings.registry()), ("a", "b"), "value", part)
    return [decoding.reader(settings, topic) for topic in ("a", "b")]


def test_an_earlier_version_of_one_topic_s_subject_is_read_there_only(registry: RegistryDouble) -> None:
    first, second = readers(registry)
    assert second(record(1, {"id": 7})) == {"id": 7, "n": 5}
    with pytest.raises(DecodeError, match="schema id 1 is not of the subject a-value"):
        first(record(1, {"id": 7}))


def test_explicit_subject_applies_to_all_topics(registry: RegistryDouble) -> None:
    first, _ = readers(registry, subject="b-value")
    assert first(record(1, {"id": 7})) == {"id": 7, "n": 5}


def test_a_record_whose_schema_does_not_fit_the_columns_can_t_be_decoded(registry: RegistryDouble) -> None:
    _, second = readers(registry)
    with pytest.raises(DecodeError, match="not a record of schema 3"):
        second(record(3, {"id": "x"}))


def test_topics_of_different_schemas_need_the_schema_to_read_them_as(registry: RegistryDouble) -> None:
    registry.answer("GET /subjects/b-value/versions/latest", (200, {"id": 1, "schema": json.dumps(OLD)}))
    with pytest.raises(OptionError, match=r'a, b have different schemas .* option\("valueSchemaId"'):
        readers(registry)
    first, second = readers(registry, schema_id=2)
    assert second(record(1, {"id": 7})) == {"id": 7, "n": 5}
    with pytest.raises(DecodeError, match="schema id 1 is not of the subject a-value"):
        first(record(1, {"id": 7}))
