"""Connection settings: typed, from the environment or given, turned into librdkafka's dicts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from forebay.kafka.librdkafka_log import log_options, outage_options
from forebay.kafka.option_names import from_environment
from forebay.kafka.options import as_text, check_options, for_admin, for_consumer, for_producer, hide_secrets
from forebay.kafka.registry_settings import Compatibility, RegistrySettings, SchemaIds

_OPTION_PREFIX = "FOREBAY_KAFKA_"

_EVERY: Mapping[str, Any] = {"reconnect.backoff.max.ms": 1_000}
"""Kafka's own clients ask for a broker that went away once a second; librdkafka only every ten after a while."""

_CONSUMER: Mapping[str, Any] = {
    "auto.offset.reset": "error",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    # Whoever reads faster than it fetches would rest for a second each time the client has enough waiting.
    "fetch.queue.backoff.ms": 10,
    "group.id": "forebay",
    "isolation.level": "read_committed",
}
_PRODUCER: Mapping[str, Any] = {
    "enable.idempotence": True,
    "message.max.bytes": 4 * 1024 * 1024,
    "partitioner": "murmur2_random",
    "queue.buffering.max.kbytes": 64 * 1024,
    "queue.buffering.max.messages": 1_000_000,
}


def _registry_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("a schema registry's URL is http://host:port or https://host:port, with a path if it has one")
    if parts.username or parts.password:
        raise ValueError("credentials don't belong into the URL: give schema_registry_username and _password")
    return url.rstrip("/")


class KafkaSettings(BaseSettings):
    """Where broker and schema registry are and how to reach them.

    Each field by environment variable: FOREBAY_BOOTSTRAP_SERVERS, FOREBAY_SCHEMA_REGISTRY_URL ... Any client option of
    librdkafka: `kafka={"ssl.ca.location": "ca.pem"}` or FOREBAY_KAFKA_SSL_CA_LOCATION=ca.pem. Secrets are never shown.
    """

    model_config = SettingsConfigDict(env_prefix="FOREBAY_", frozen=True, hide_input_in_errors=True, extra="forbid")

    bootstrap_servers: Annotated[str, Field(min_length=1)]
    schema_registry_url: Annotated[str, AfterValidator(_registry_url)]
    schema_registry_username: str | None = None
    schema_registry_password: SecretStr | None = None
    schema_registry_token: SecretStr | None = None
    schema_registry_ca_location: Path | None = None
    schema_registry_certificate_location: Path | None = None
    schema_registry_key_location: Path | None = None
    schema_registry_compatibility: Compatibility = Compatibility.BACKWARD
    schema_registry_ids: SchemaIds = SchemaIds.SUBJECT
    schema_registry_timeout_s: Annotated[float, Field(gt=0)] = 10.0
    kafka: Annotated[
        Mapping[str, str | SecretStr], NoDecode, BeforeValidator(as_text), AfterValidator(hide_secrets)
    ] = {}

    @model_validator(mode="before")
    @classmethod
    def _options_from_environment(cls, values: Any) -> Any:
        found = {
            from_environment(name.removeprefix(_OPTION_PREFIX)): value
            for name, value in os.environ.items()
            if name.startswith(_OPTION_PREFIX)
        }
        given = as_text(values.get("kafka", {}))
        return {**values, "kafka": {**found, **given}}

    def check(self) -> None:
        """Refuse client options that librdkafka does not take; connect to nothing. Raises KafkaSettingsError."""
        check_options(self.kafka)

    def consumer(self, **overrides: Any) -> dict[str, Any]:
        """Return a consumer's configuration: committed records only, nothing committed or skipped by itself."""
        return {**self._base("consumer"), **_CONSUMER, **for_consumer(self.kafka), **overrides}

    def producer(self, **overrides: Any) -> dict[str, Any]:
        """Return a producer's configuration: idempotent, keys partitioned as by Kafka's own clients."""
        return {**self._base("producer"), **_PRODUCER, **for_producer(self.kafka), **overrides}

    def admin(self, **overrides: Any) -> dict[str, Any]:
        """Return an admin client's configuration."""
        base = {"bootstrap.servers": self.bootstrap_servers, **_EVERY, **log_options()}
        return {**base, **for_admin(self.kafka), **overrides}

    def registry(self) -> RegistrySettings:
        """Return the part that concerns the schema registry."""
        return RegistrySettings(
            url=self.schema_registry_url,
            username=self.schema_registry_username,
            password=self.schema_registry_password,
            token=self.schema_registry_token,
            ca_location=self.schema_registry_ca_location,
            certificate_location=self.schema_registry_certificate_location,
            key_location=self.schema_registry_key_location,
            compatibility=self.schema_registry_compatibility,
            timeout_s=self.schema_registry_timeout_s,
        )

    def _base(self, client: str) -> dict[str, Any]:
        level = {"log_level": 7} if "debug" in self.kafka else {}
        outage = outage_options(client, self.bootstrap_servers)
        return {"bootstrap.servers": self.bootstrap_servers, **_EVERY, **log_options(), **level, **outage}
