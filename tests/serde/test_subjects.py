"""A dry run reads the connected schema registry and registers nothing in it."""

from __future__ import annotations

import pytest

from forebay.serde.resolver import UnknownSchemaId
from forebay.serde.schema import Schema
from forebay.serde.subjects import LocalSubjects, OwnSubjects, connected_subjects, registering_nothing

THEIRS, OURS = (Schema(f'{{"type": "record", "name": "{name}", "fields": []}}') for name in ("Theirs", "Ours"))


def test_a_schema_registered_later_is_found(registry: LocalSubjects) -> None:
    theirs = registry.register("clicks-value", THEIRS)
    with registering_nothing():
        ours = connected_subjects().register("clicks-value", OURS)
        assert connected_subjects().register("clicks-value", OURS) == ours != theirs
        assert connected_subjects().schema(ours.schema_id) == OURS
        assert connected_subjects().schema(theirs.schema_id) == THEIRS
        assert connected_subjects().newest("clicks-value") == ours
    assert connected_subjects() is registry
    assert registry.newest("clicks-value") == theirs
    with pytest.raises(UnknownSchemaId):
        registry.schema(ours.schema_id)


def test_subjects_are_read_where_the_registry_has_them(registry: LocalSubjects) -> None:
    theirs = registry.register("clicks-value", THEIRS)
    with registering_nothing():
        assert connected_subjects().newest("clicks-value") == theirs
        assert connected_subjects().newest("views-value") is None


def test_local_ids_differ_from_registered_ids_after_an_explicit_id(registry: LocalSubjects) -> None:
    theirs = registry.register("clicks-value", THEIRS, schema_id=8)
    own = OwnSubjects(lambda: registry)
    own.register("taps-value", OURS, schema_id=7)
    own.register("views-value", Schema('{"type": "record", "name": "View", "fields": []}'))
    assert own.schema(theirs.schema_id) == THEIRS


def test_subject_does_not_contain_a_local_id_of_another_subject(registry: LocalSubjects) -> None:
    own = OwnSubjects(lambda: refuse(registry))
    number = own.register("taps-value", OURS).schema_id
    assert own.holds("taps-value", number)
    assert not own.holds("views-value", number)


def refuse(registry: LocalSubjects) -> LocalSubjects:
    raise UnknownSchemaId(f"{registry} was asked")
