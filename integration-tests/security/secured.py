"""The embedded platform with a broker that lets nobody in unproven: SASL_SSL by SCRAM, SSL by client certificates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import (
    AclBindingFilter,
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from pki import Authority, Certificate

from forebay.kafka.acl_admin import AclAdmin, binding
from forebay.kafka.acls import Right
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Platform
from forebay.platform.broker_settings import Additions, Listener
from forebay.platform.ports import HOST, free_port

_STORES = "PEM"
_SCRAM = "SCRAM-SHA-512"
_ITERATIONS = 4096

Environment = dict[str, str]


@dataclass(frozen=True, slots=True)
class Secured:
    """A platform whose own listener is the administrator's, and two for everybody else.

    Nobody but the administrator may do anything there without an ACL.
    """

    platform: Platform
    authority: Authority
    scram: str
    mutual: str

    def add_user(self, name: str, password: str) -> None:
        """Give a user a password, or another one."""
        admin = AdminClient(self.administrator.admin())
        change = UserScramCredentialUpsertion(
            name, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, _ITERATIONS), password.encode()
        )
        for done in admin.alter_user_scram_credentials([change]).values():
            done.result(20)

    def grant(self, principal: str, *rights: Right) -> None:
        """Grant rights."""
        AclAdmin(self.administrator).grant(rights, principal)

    def revoke(self, principal: str, right: Right) -> None:
        """Take a right away; it must be there."""
        admin = AdminClient(self.administrator.admin())
        granted = binding(right, principal)
        filtered = AclBindingFilter(
            granted.restype,
            granted.name,
            granted.resource_pattern_type,
            granted.principal,
            granted.host,
            granted.operation,
            granted.permission_type,
        )
        (done,) = admin.delete_acls([filtered]).values()
        assert len(done.result(20)) == 1, f"{principal} had no right to {right}"

    @property
    def administrator(self) -> KafkaSettings:
        """Give the settings of whoever may do everything."""
        return self._settings(self.platform.endpoints.bootstrap_servers, {})

    def user(self, name: str, password: str) -> KafkaSettings:
        """Give the settings of a user with a password."""
        return self._settings(self.scram, self.scram_options(name, password))

    def scram_options(self, name: str, password: str) -> dict[str, str]:
        """Give the client options of a user with a password."""
        return {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.authority.certificate),
            "sasl.mechanism": _SCRAM,
            "sasl.username": name,
            "sasl.password": password,
        }

    def mutual_options(self, certificate: Certificate, passphrase: str = "") -> dict[str, str]:
        """Give the client options of the owner of a certificate."""
        return {
            "security.protocol": "SSL",
            "ssl.ca.location": str(self.authority.certificate),
            "ssl.certificate.location": str(certificate.certificate),
            "ssl.key.location": str(certificate.key),
            **({"ssl.key.password": passphrase} if passphrase else {}),
        }

    def environment(self, servers: str, options: dict[str, str]) -> Environment:
        """Give what a process is told by its environment."""
        endpoints = self.platform.endpoints
        return {
            "FOREBAY_BOOTSTRAP_SERVERS": servers,
            "FOREBAY_SCHEMA_REGISTRY_URL": endpoints.registry_url,
            **{f"FOREBAY_KAFKA_{name.replace('.', '_').upper()}": value for name, value in options.items()},
        }

    def _settings(self, servers: str, options: dict[str, str]) -> KafkaSettings:
        url = self.platform.endpoints.registry_url
        return KafkaSettings(bootstrap_servers=servers, schema_registry_url=url, kafka=options)


def secured_platform(folder: Path) -> Secured:
    """Give a platform, not yet started, with a certificate authority of its own."""
    authority = Authority(folder / "pki")
    scram = free_port()
    mutual = free_port(frozenset({scram}))
    settings = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "false",
        # Clients of the plain listener and of the controller's; those of the other listeners have names of their own.
        "super.users": "User:ANONYMOUS",
        "sasl.enabled.mechanisms": _SCRAM,
        "listener.name.users.scram-sha-512.sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        ),
        "listener.name.owners.ssl.client.auth": "required",
        "ssl.keystore.type": _STORES,
        "ssl.keystore.location": str(authority.server()),
        "ssl.truststore.type": _STORES,
        "ssl.truststore.location": str(authority.certificate),
    }
    listeners = (Listener("USERS", "SASL_SSL", scram), Listener("OWNERS", "SSL", mutual))
    platform = Platform(folder / "platform", broker=Additions(listeners, settings))
    return Secured(platform, authority, f"{HOST}:{scram}", f"{HOST}:{mutual}")
