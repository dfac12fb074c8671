"""The schema registry (Confluent's API): registration under a subject, schemas by id."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import quote

from forebay.kafka.errors import RegistryRefused
from forebay.kafka.registry_http import Answer, RegistryHttp
from forebay.kafka.registry_settings import Compatibility, RegistrySettings, SchemaIds
from forebay.kafka.retrying import keep_trying
from forebay.kafka.unknown_ids import UnknownIds
from forebay.serde.references import insert_types, join_files
from forebay.serde.resolver import RegistryUnavailable, UnknownSchemaId
from forebay.serde.schema import RegisteredSchema, Schema
from forebay.serde.subjects import AVRO

_PATIENCE_S = 10.0
_MOST_REFERENCES = 50
"""Schemas that a schema may refer to, directly or through others."""

T = TypeVar("T")


def subject_of(topic: str) -> str:
    """Return the subject of a topic's values (TopicNameStrategy); keys are plain strings and have none."""
    return f"{topic}-value"


class SchemaRegistry:
    """A client that caches schemas by id and, for some seconds, unknown ids (implements Subjects).

    Args:
        settings: address and login of the registry.
        patience_s: how long a call retries while the registry is not available, in seconds.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        settings: RegistrySettings,
        patience_s: float = _PATIENCE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._http = RegistryHttp(settings)
        self._takes_any = settings.ids is SchemaIds.ANY
        self._patience_s = patience_s
        self._lock = threading.Lock()
        self._schemas: dict[int, Schema] = {}
        self._bodies: dict[Schema, dict[str, Any]] = {}
        self._clock = clock
        self._unknown = UnknownIds(clock)
        self._held: set[tuple[str, int]] = set()
        self._foreign: dict[str, UnknownIds] = {}

    def register(self, subject: str, schema: Schema, kind: str = AVRO) -> RegisteredSchema:
        """Return the schema with its id under `subject`. Register it if it is new there.

        Args:
            kind: kind of the schema: AVRO, PROTOBUF or JSON.

        Raises:
            RegistryRefused: it is incompatible with the subject's schemas, invalid, or the subject's rule is too weak.
            RegistryUnavailable: the registry was not available for `patience_s`.
        """
        body = self._bodies[schema] = _body(schema, kind)
        # Look up first: registering needs a right that a job may lack if a pipeline registers its schemas.
        answer = self._send("POST", _path(subject), body)
        # Set the rule before registering a new version, because the registry checks the version by the current rule.
        self.keep_compatibility(subject)
        if answer.status != 200:
            answer = self._send("POST", f"{_path(subject)}/versions", body)
        if answer.status != 200:
            raise RegistryRefused(self._refusal(subject, schema.name if kind == AVRO else "made of columns", answer))
        self.keep_compatibility(subject)
        registered = RegisteredSchema(self._field(answer, "id", int, _path(subject)), schema)
        self._schemas[registered.schema_id] = schema
        return registered

    def schema(self, schema_id: int) -> Schema:
        """Return the schema of an id, from the cache if possible.

        Raises:
            UnknownSchemaId: the registry has no such id (this result is cached for a while).
            RegistryUnavailable: the registry was not available for `patience_s`.
        """
        known = self._schemas.get(schema_id)
        if known is not None:
            return known
        with self._lock:
            # Under the lock, so that of several threads with the same unknown id only one sends a request.
            if schema_id in self._unknown:
                raise self._no_schema(schema_id)
            path = f"/schemas/ids/{schema_id}"
            answer = self._send("GET", path)
            if answer.status == 404:
                self._unknown.add(schema_id)
                raise self._no_schema(schema_id)
            schema = Schema(self._text(answer, path))
            # A registry needs all these fields to look up a version of a subject.
            fields = ("schema", "schemaType", "references", "metadata", "ruleSet")
            self._bodies[schema] = {name: answer.content[name] for name in fields if name in answer.content}
            return self._schemas.setdefault(schema_id, schema)

    def kind(self, schema_id: int) -> str:
        """Return the kind of a schema: AVRO, PROTOBUF or JSON.

        Raises:
            UnknownSchemaId: The registry has no schema with this id.
            RegistryUnavailable: The registry was not available for as long as this client is patient.
        """
        answer = self._send("GET", f"/schemas/ids/{schema_id}")
        if answer.status == 404:
            raise self._no_schema(schema_id)
        return str(answer.content.get("schemaType") or AVRO)

    def holds(self, subject: str, schema_id: int) -> bool:
        """Return whether a version of the subject, including deleted ones, has the schema of an id.

        If the settings accept any id, every subject has every schema. The result is cached. False is cached only for a
        while, because the schema may be registered later.

        Raises:
            UnknownSchemaId: The registry has no schema with this id.
            RegistryUnavailable: The registry was not available for as long as this client is patient.
        """
        schema = self.schema(schema_id)
        if self._takes_any:
            return True
        with self._lock:
            foreign = self._foreign.setdefault(subject, UnknownIds(self._clock))
            if (subject, schema_id) in self._held or schema_id in foreign:
                return (subject, schema_id) in self._held
        # Accept deleted versions, because records written with them are still in the topic. Send the request without
        # the lock, which would delay lookups of other ids.
        is_held = self._send("POST", f"{_path(subject)}?deleted=true", self._bodies[schema]).status == 200
        with self._lock:
            if is_held:
                self._held.add((subject, schema_id))
            else:
                foreign.add(schema_id)
        return is_held

    def newest(self, subject: str) -> RegisteredSchema | None:
        """Return a subject's latest schema, of any kind; None if it has no schema. Raises RegistryUnavailable."""
        path = f"{_path(subject)}/versions/latest"
        answer = self._send("GET", path)
        if answer.status == 404:
            return None
        schema = Schema(self._text(answer, path))
        return RegisteredSchema(self._field(answer, "id", int, path), schema)

    def compatibility(self, subject: str) -> Compatibility | None:
        """Return the subject's own rule, or None if it has none."""
        answer = self._send("GET", f"/config/{quote(subject, safe='')}")
        level = answer.content.get("compatibilityLevel") if answer.status == 200 else None
        return None if level is None else Compatibility(level)

    def keep_compatibility(self, subject: str) -> None:
        """Set the compatibility rule of the settings for a subject without a rule. Check the rule of any other subject.

        Raises:
            RegistryRefused: the subject's own rule is weaker than that of the settings.
        """
        required = self._settings.compatibility
        present = self.compatibility(subject)
        if present is None:
            self._send("PUT", f"/config/{quote(subject, safe='')}", {"compatibility": required.value})
        elif not present.promises(required):
            raise RegistryRefused(
                f"the subject {subject} has compatibility {present.value}, which is weaker than {required.value}: send "
                f"PUT {self._settings.url}/config/{subject} with the body {{'compatibility': '{required.value}'}}; or, "
                f"to accept the weaker rule, set FOREBAY_SCHEMA_REGISTRY_COMPATIBILITY={present.value}"
            )

    def _send(self, method: str, path: str, body: object = None) -> Answer:
        # While a registry restarts, no record may be sent to `.errors`, so calls wait for it.
        return keep_trying(lambda: self._http.send(method, path, body), self._patience_s)

    def _text(self, answer: Answer, path: str, known: dict[str, str] | None = None) -> str:
        """Return the schema text of an answer, with the schemas that it refers to inserted.

        Args:
            known: Texts of referenced schemas that were already read, by their paths.

        Raises:
            UnknownSchemaId: A referenced schema is missing, or there are too many references.
            RegistryUnavailable: The registry was not available for `patience_s`.
        """
        known = {} if known is None else known
        text = self._field(answer, "schema", str, path)
        texts: dict[str, str] = {}
        for reference in answer.content.get("references") or []:
            referred = f"{_path(str(reference['subject']))}/versions/{reference['version']}?deleted=true"
            if referred not in known:
                known[referred] = ""  # if it refers to itself
                if len(known) > _MOST_REFERENCES:
                    raise UnknownSchemaId(f"{path} refers to more than {_MOST_REFERENCES} schemas")
                response = self._send("GET", referred)
                if response.status == 404:
                    raise UnknownSchemaId(f"{path} refers to {referred}, which {self._settings.url} does not have")
                # Resolve its own references first: `insert_types` and `join_files` need complete texts.
                known[referred] = self._text(response, referred, known)
            texts[str(reference["name"])] = known[referred]
        match answer.content.get("schemaType", AVRO):
            case "PROTOBUF" if texts:
                return join_files(text, texts)
            case "AVRO" if texts:
                return insert_types(text, texts)
        return text

    def _field(self, answer: Answer, field: str, kind: type[T], path: str) -> T:
        """Return a field of an answer. Raises RegistryUnavailable if it is missing: the server is then no registry."""
        value = answer.content.get(field)
        if answer.status != 200 or not isinstance(value, kind):
            raise RegistryUnavailable(
                f"{self._settings.url} does not answer as a schema registry does: HTTP {answer.status} without "
                f"{field!r} for {path}"
            )
        return value

    def _refusal(self, subject: str, name: str, answer: Answer) -> str:
        if answer.status == 409:
            return (
                f"the schema {name} is incompatible with what {subject} holds: {answer.reason}; change the "
                "contract (give new fields a default, keep the types of old ones), or write to a new topic"
            )
        return (
            f"the schema registry does not take the schema {name} for {subject} (HTTP {answer.status}): {answer.reason}"
        )

    def _no_schema(self, schema_id: int) -> UnknownSchemaId:
        return UnknownSchemaId(f"unknown schema id {schema_id}: {self._settings.url} has no schema with it")


@lru_cache(maxsize=16)
def shared_registry(settings: RegistrySettings) -> SchemaRegistry:
    """Return this process's shared client of a registry, so that each id is requested once."""
    return SchemaRegistry(settings)


def _body(schema: Schema, kind: str) -> dict[str, Any]:
    return {"schema": schema.text} if kind == AVRO else {"schema": schema.text, "schemaType": kind}


def _path(subject: str) -> str:
    return f"/subjects/{quote(subject, safe='')}"
