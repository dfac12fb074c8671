"""Connection settings, and the configurations of librdkafka's clients that follow from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from forebay.kafka.errors import KafkaSettingsError
from forebay.kafka.librdkafka_log import log_options, outage_options
from forebay.kafka.options import Options, as_text, check_options, for_admin, for_consumer, for_producer, hide_secrets
from forebay.kafka.registry_settings import Compatibility, RegistrySettings, SchemaIds
from forebay.kafka.secret import Secret, without_line_end
from forebay.limits.topics import CLIENT_MAX_BYTES

_EVERY: Mapping[str, Any] = {"reconnect.backoff.max.ms": 1_000}
"""Kafka's own clients reconnect to a lost broker once a second, but librdkafka after a while only every 10 s."""

_ADMIN: Mapping[str, Any] = {
    # While a broker is down, a client with sparse connections that requests offsets from it connects a thousand times
    # a second, until another broker leads its partitions. Neither reconnect.backoff option changes that.
    "enable.sparse.connections": False,
}

_CONSUMER: Mapping[str, Any] = {
    # If an offset is gone, the job must stop: any other value would skip records silently.
    "auto.offset.reset": "error",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    # By default, librdkafka pauses fetching for a second whenever its queue is full: too long for a fast reader.
    "fetch.queue.backoff.ms": 10,
    "group.id": "forebay",
    "isolation.level": "read_committed",
}
_PRODUCER: Mapping[str, Any] = {
    "enable.idempotence": True,
    "message.max.bytes": CLIENT_MAX_BYTES,
    # Kafka's Java clients choose partitions by murmur2. librdkafka's default would send the same keys elsewhere.
    "partitioner": "murmur2_random",
    "queue.buffering.max.kbytes": 64 * 1024,
    "queue.buffering.max.messages": 1_000_000,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class KafkaSettings:
    """Connection settings of broker and schema registry.

    Args:
        bootstrap_servers: host:port[,host:port...].
        schema_registry_...: as in RegistrySettings.
        schema_registry_ids: the schemas that records of inputs may have.
        kafka: client options of librdkafka, such as {"ssl.ca.location": "ca.pem"}. Secret values are never shown.

    Raises:
        KafkaSettingsError: a value is invalid. The message names its environment variable (settings_from_environment).
    """

    bootstrap_servers: str
    schema_registry_url: str
    schema_registry_username: str | None = None
    schema_registry_password: Secret | None = None
    schema_registry_token: Secret | None = None
    schema_registry_ca_location: Path | None = None
    schema_registry_certificate_location: Path | None = None
    schema_registry_key_location: Path | None = None
    schema_registry_compatibility: Compatibility = Compatibility.BACKWARD
    schema_registry_ids: SchemaIds = SchemaIds.SUBJECT
    schema_registry_timeout_s: float = 10.0
    kafka: Options = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.bootstrap_servers:
            raise KafkaSettingsError("FOREBAY_BOOTSTRAP_SERVERS: name at least one broker, host:port")
        if not self.schema_registry_timeout_s > 0:
            raise KafkaSettingsError("FOREBAY_SCHEMA_REGISTRY_TIMEOUT_S: specify a number above 0")
        object.__setattr__(self, "schema_registry_url", _registry_url(self.schema_registry_url))
        if self.schema_registry_password is not None:
            object.__setattr__(self, "schema_registry_password", without_line_end(self.schema_registry_password))
        if self.schema_registry_token is not None:
            object.__setattr__(self, "schema_registry_token", _token(self.schema_registry_token))
        object.__setattr__(self, "kafka", hide_secrets(as_text(self.kafka)))

    def check(self) -> None:
        """Check that librdkafka accepts the client options, without connecting. Raises KafkaSettingsError."""
        check_options(self.kafka)

    def consumer(self, **overrides: Any) -> dict[str, Any]:
        """Return a consumer's configuration: only committed records, no automatic commit or offset reset."""
        # `overrides` come last: values that a caller relies on, such as its group, override the user's options.
        return {**self._base("consumer"), **_CONSUMER, **for_consumer(self.kafka), **overrides}

    def producer(self, **overrides: Any) -> dict[str, Any]:
        """Return a producer's configuration: idempotent, keys partitioned as by Kafka's own clients."""
        return {**self._base("producer"), **_PRODUCER, **for_producer(self.kafka), **overrides}

    def admin(self, **overrides: Any) -> dict[str, Any]:
        """Return an admin client's configuration. The client connects to all brokers, even if it sends them nothing."""
        base = {"bootstrap.servers": self.bootstrap_servers, **_EVERY, **_ADMIN, **log_options()}
        return {**base, **for_admin(self.kafka), **overrides}

    def registry(self) -> RegistrySettings:
        """Return the settings of the schema registry."""
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
            ids=self.schema_registry_ids,
        )

    def _base(self, client: str) -> dict[str, Any]:
        level = {"log_level": 7} if "debug" in self.kafka else {}
        outage = outage_options(client, self.bootstrap_servers)
        return {"bootstrap.servers": self.bootstrap_servers, **_EVERY, **log_options(), **level, **outage}


def _token(token: Secret) -> Secret:
    """Return the token without a line end. Raises KafkaSettingsError, which does not show it."""
    token = without_line_end(token)
    if not token.reveal():
        raise KafkaSettingsError("FOREBAY_SCHEMA_REGISTRY_TOKEN: the token is empty")
    if not all("!" <= letter <= "~" for letter in token.reveal()):
        raise KafkaSettingsError(
            "FOREBAY_SCHEMA_REGISTRY_TOKEN: a token has only ASCII characters, and no spaces or line breaks"
        )
    return token


def _registry_url(url: str) -> str:
    """Return the URL without a slash at its end. Raises KafkaSettingsError, which does not show it."""
    try:
        parts = urlsplit(url)
    except ValueError as error:  # such as http://[::1
        raise KafkaSettingsError(f"FOREBAY_SCHEMA_REGISTRY_URL is not a valid URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise KafkaSettingsError(
            "FOREBAY_SCHEMA_REGISTRY_URL: write http://host:port or https://host:port, followed by a path if the "
            "registry has one"
        )
    if parts.username or parts.password:
        raise KafkaSettingsError(
            "FOREBAY_SCHEMA_REGISTRY_URL must not contain credentials: set "
            "FOREBAY_SCHEMA_REGISTRY_USERNAME and _PASSWORD"
        )
    return url.rstrip("/")
