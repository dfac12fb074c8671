"""A broker that requires authentication (SASL_SSL with SCRAM, SSL with client certificates), and its administrator."""

from __future__ import annotations

import time
from dataclasses import dataclass

from confluent_kafka.admin import (
    AclBindingFilter,
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from pki import COMMON_NAME_RULE

from forebay.kafka.acl_admin import AclAdmin, binding
from forebay.kafka.acls import Right
from forebay.kafka.settings import KafkaSettings

_STORES = "PEM"
_SCRAM = "SCRAM-SHA-512"
_ITERATIONS = 4096

PROTOCOLS = {"USERS": "SASL_SSL", "OWNERS": "SSL"}
"""Listeners of the broker for users with a password, and for clients with a certificate."""


def broker_properties(store: object, authority: object) -> dict[str, str]:
    """Return the settings of the broker, without the addresses of its listeners.

    Args:
        store: File with its key and certificate chain.
        authority: File with the certificate of the authority that signs the certificates of clients.
    """
    return {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "false",
        # Clients of the unencrypted listeners, including the controller's, are anonymous. All others must authenticate.
        "super.users": "User:ANONYMOUS",
        "sasl.enabled.mechanisms": _SCRAM,
        "listener.name.users.scram-sha-512.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
        "listener.name.owners.ssl.client.auth": "required",
        "ssl.principal.mapping.rules": COMMON_NAME_RULE,
        "ssl.keystore.type": _STORES,
        "ssl.keystore.location": str(store),
        "ssl.truststore.type": _STORES,
        "ssl.truststore.location": str(authority),
    }


def scram_options(user: str) -> dict[str, str]:
    """Return a user's client options, without the password and the authority's certificate."""
    return {"security.protocol": PROTOCOLS["USERS"], "sasl.mechanism": _SCRAM, "sasl.username": user}


def mutual_options(certificate: object, key: object) -> dict[str, str]:
    """Return the client options of a certificate's owner, without the authority's certificate."""
    return {
        "security.protocol": PROTOCOLS["OWNERS"],
        "ssl.certificate.location": str(certificate),
        "ssl.key.location": str(key),
    }


@dataclass(frozen=True, slots=True)
class Administrator:
    """The administrator of the broker, who adds users, and grants and revokes rights."""

    settings: KafkaSettings

    def add_user(self, name: str, password: str) -> None:
        """Set a user's password."""
        admin = AdminClient(self.settings.admin())
        change = UserScramCredentialUpsertion(
            name, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, _ITERATIONS), password.encode()
        )
        for done in admin.alter_user_scram_credentials([change]).values():
            done.result(20)

    def grant(self, principal: str, *rights: Right) -> None:
        """Grant rights, and wait until they take effect, which is shortly after the broker has accepted them."""
        AclAdmin(self.settings).grant(rights, principal)
        for right in rights:
            self._await(_filter(right, principal), present=True)

    def revoke(self, principal: str, right: Right) -> None:
        """Revoke an existing right, and wait until this takes effect."""
        admin, filtered = AdminClient(self.settings.admin()), _filter(right, principal)
        (done,) = admin.delete_acls([filtered]).values()
        assert len(done.result(20)) == 1, f"{principal} had no right to {right}"
        self._await(filtered, present=False)

    def _await(self, filtered: AclBindingFilter, *, present: bool) -> None:
        admin, deadline = AdminClient(self.settings.admin()), time.monotonic() + 20
        while bool(admin.describe_acls(filtered).result(20)) is not present:
            assert time.monotonic() < deadline, f"the broker does not know of the change of {filtered}"
            time.sleep(0.02)


def _filter(right: Right, principal: str) -> AclBindingFilter:
    granted = binding(right, principal)
    return AclBindingFilter(
        granted.restype,
        granted.name,
        granted.resource_pattern_type,
        granted.principal,
        granted.host,
        granted.operation,
        granted.permission_type,
    )
