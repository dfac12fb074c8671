"""Checks a job's rights at the broker, and explains what is missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from forebay.catalog import Service
from forebay.kafka.acl_admin import AclAdmin
from forebay.kafka.acls import Resource, Right, Role, missing_kind, rights
from forebay.kafka.errors import LoginRefused, NotAuthorized
from forebay.kafka.options import plain
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.errors import Unavailable

_ANSWER_SECONDS = 8.0
_HIDDEN = ("_UNKNOWN_PARTITION", "_UNKNOWN_TOPIC", "_INCONSISTENT", "_TIMED_OUT", "_WAIT_COORD", "INVALID_TXN_STATE")
"""Errors that a missing right may cause without being named.

librdkafka reports the first five for topics that the user must not see or write, and for groups that it must not use.
The coordinator reports INVALID_TXN_STATE if it refused to add one of the transaction's topics.
"""


class JobRights:
    """The rights of one job's principal.

    Args:
        roles: the roles of the job.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        service: Service,
        application: str,
        roles: Sequence[Role] = (Role.RUN,),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._refused_at: float | None = None
        self._kafka = kafka
        self._service = service
        self._application = application
        self._roles = roles
        self._needed = tuple(dict.fromkeys(right for role in roles for right in rights(service, application, role)))
        self._admin: AclAdmin | None = None

    def require(self) -> None:
        """Check all rights that the broker reports.

        Raises:
            NotAuthorized: names the principal, each right it lacks, and the remedy. KafkaUnavailable.
        """
        lacking = self._lacking()
        if lacking:
            raise NotAuthorized(self._describe(lacking))

    def trouble(self) -> str:
        """Return a message for the operator if a right is missing or the login is refused, otherwise ""."""
        try:
            lacking = self._lacking()
        except LoginRefused as error:
            if self._refused_at is None:
                self._refused_at = self._clock()
            return str(error)
        except Unavailable:
            return ""
        self._refused_at = None
        return self._describe(lacking) if lacking else ""

    @property
    def refused_seconds(self) -> float:
        """How long (s) the broker has refused the login, as observed by `trouble`."""
        return 0.0 if self._refused_at is None else self._clock() - self._refused_at

    def explain(self, cause: str) -> str:
        """Return the missing rights if they may have caused a failure, otherwise `cause`."""
        kind = missing_kind(cause)
        if kind is None and not any(sign in cause for sign in _HIDDEN):
            return cause
        try:
            lacking = list(self._lacking())
        except Unavailable:
            lacking = []
        if kind is Resource.TRANSACTIONAL_ID:
            lacking += [right for right in self._needed if right.resource is kind]
        if lacking:
            return self._describe(lacking)
        return cause if kind is None else f"{cause}; see `{self._command}`"

    @property
    def principal(self) -> str:
        """The principal if the settings name it, otherwise a description of it."""
        user = self._kafka.kafka.get("sasl.username")
        if user is not None:
            return f"User:{plain(user)}"
        certificate = self._kafka.kafka.get("ssl.certificate.location")
        return f"the owner of {plain(certificate)}" if certificate is not None else "User:ANONYMOUS"

    @property
    def _command(self) -> str:
        name = self.principal if self.principal.startswith("User:") else "User:<its subject>"
        own = "" if self._application == self._service.name else f" --application {self._application}"
        roles = "".join(f" --role {role.value}" for role in self._roles if self._roles != (Role.RUN,))
        return f"forebay acl {self._service.name}{own}{roles} --principal '{name}'"

    def _lacking(self) -> tuple[Right, ...]:
        if self._admin is None:
            self._admin = AclAdmin(self._kafka, _ANSWER_SECONDS)
        return self._admin.lacking(self._needed)

    def _describe(self, lacking: Sequence[Right]) -> str:
        rights_lacking = ", ".join(map(str, lacking))
        return (
            f"not authorized at {self._kafka.bootstrap_servers}: {self.principal} lacks {rights_lacking}: "
            f"an administrator grants it by `{self._command} --apply`"
        )
