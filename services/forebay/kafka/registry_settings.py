"""Where the schema registry is, and which changes of a schema it must refuse."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from forebay.kafka.secret import Secret


class Compatibility(enum.Enum):
    """The registry's rule for a new version of a schema. BACKWARD: new readers can read what was written before."""

    NONE = "NONE"
    BACKWARD = "BACKWARD"
    BACKWARD_TRANSITIVE = "BACKWARD_TRANSITIVE"
    FORWARD = "FORWARD"
    FORWARD_TRANSITIVE = "FORWARD_TRANSITIVE"
    FULL = "FULL"
    FULL_TRANSITIVE = "FULL_TRANSITIVE"

    def promises(self, wanted: Compatibility) -> bool:
        """Return whether this rule refuses all that `wanted` refuses."""
        return wanted in _IMPLIED[self]


class SchemaIds(enum.Enum):
    """Which schemas an input's records may be written with: its subject's, or any that the registry has."""

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
        ca_location: certificate authorities to trust, PEM; else the system's.
        certificate_location, key_location: the client's own, PEM.
        compatibility: the rule that subjects must keep.
        timeout_s: for each request, in seconds.
        ids: which schemas a subject's records may be written with.
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
