"""Settings of the schema registry, and the changes of a schema that it must refuse."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from forebay.kafka.secret import Secret


class Compatibility(enum.Enum):
    """The registry's rule for a new version of a schema. BACKWARD: new readers can read older records."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    def promises(self, wanted: Compatibility) -> bool:
        """Return whether this rule refuses every change that `wanted` refuses."""
        return wanted in _IMPLIED[self]


class SchemaIds(enum.Enum):
    """The schemas that an input's records may have: those of its subject, or all of the registry."""

    SUBJECT = "subject"
    ANY = "any"


_IMPLIED = {level: {level, Compatibility.NONE} for level in Compatibility}
_IMPLIED[Compatibility.BACKWARD_TRANSITIVE] |= {Compatibility.BACKWARD}
_IMPLIED[Compatibility.FORWARD_TRANSITIVE] |= {Compatibility.FORWARD}
_IMPLIED[Compatibility.FULL] |= {Compatibility.BACKWARD, Compatibility.FORWARD}
_IMPLIED[Compatibility.FULL_TRANSITIVE] |= set(Compatibility)


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """A schema registry with Confluent's API.

    Args:
        url: its address, without a slash at the end.
        username, password: for basic authentication.
        token: for bearer authentication.
        ca_location: certificate authorities to trust, PEM; None: the system's.
        certificate_location, key_location: the client's certificate and key, PEM.
        compatibility: the rule that subjects must have at least.
        timeout_s: for each request, in seconds.
        ids: the schemas that a subject's records may have.
    """

    url: str
    username: str | None = None
    password: Secret | None = None
    token: Secret | None = None
    ca_location: Path | None = None
    certificate_location: Path | None = None
    key_location: Path | None = None
    compatibility: Compatibility = Compatibility.BACKWARD
    timeout_s: float = 10.0
    ids: SchemaIds = SchemaIds.SUBJECT
