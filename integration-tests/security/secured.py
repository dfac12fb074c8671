"""The embedded platform with a secured broker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pki import Authority, Certificate
from secured_broker import PROTOCOLS, Administrator, broker_properties, mutual_options, scram_options

from forebay.kafka.acls import Right
from forebay.kafka.settings import KafkaSettings
from forebay.platform import Platform
from forebay.platform.broker_settings import Additions, Listener
from forebay.platform.ports import HOST, free_port

Environment = dict[str, str]


@dataclass(frozen=True, slots=True)
class Secured:
    """A platform whose own listener belongs to the administrator, with two listeners for other users.

    Other users may only do what an ACL allows.
    """

    platform: Platform
    authority: Authority
    scram: str
    mutual: str

    def add_user(self, name: str, password: str) -> None:
        """Set a user's password."""
        Administrator(self.administrator).add_user(name, password)

    def grant(self, principal: str, *rights: Right) -> None:
        """Grant rights."""
        Administrator(self.administrator).grant(principal, *rights)

    def revoke(self, principal: str, right: Right) -> None:
        """Revoke an existing right."""
        Administrator(self.administrator).revoke(principal, right)

    @property
    def administrator(self) -> KafkaSettings:
        """Return the settings of the administrator."""
        return self._settings(self.platform.endpoints.bootstrap_servers, {})

    def user(self, name: str, password: str) -> KafkaSettings:
        """Return the settings of a user with a password."""
        return self._settings(self.scram, self.scram_options(name, password))

    def scram_options(self, name: str, password: str) -> dict[str, str]:
        """Return the client options of a user with a password."""
        return {**self._trust(), **scram_options(name), "sasl.password": password}

    def mutual_options(self, certificate: Certificate, passphrase: str = "") -> dict[str, str]:
        """Return the client options of the owner of a certificate."""
        encrypted = {"ssl.key.password": passphrase} if passphrase else {}
        return {**self._trust(), **mutual_options(certificate.certificate, certificate.key), **encrypted}

    def environment(self, servers: str, options: dict[str, str]) -> Environment:
        """Return the environment variables of a process."""
        endpoints = self.platform.endpoints
        return {
            "FOREBAY_BOOTSTRAP_SERVERS": servers,
            "FOREBAY_SCHEMA_REGISTRY_URL": endpoints.registry_url,
            **{f"FOREBAY_KAFKA_{name.replace('.', '_').upper()}": value for name, value in options.items()},
        }

    def _trust(self) -> dict[str, str]:
        return {"ssl.ca.location": str(self.authority.certificate)}

    def _settings(self, servers: str, options: dict[str, str]) -> KafkaSettings:
        url = self.platform.endpoints.registry_url
        return KafkaSettings(bootstrap_servers=servers, schema_registry_url=url, kafka=options)


def secured_platform(folder: Path) -> Secured:
    """Return a platform with a separate certificate authority. It is not started yet."""
    authority = Authority(folder / "pki")
    scram = free_port()
    mutual = free_port(frozenset({scram}))
    settings = broker_properties(authority.server("localhost"), authority.certificate)
    listeners = tuple(
        Listener(name, PROTOCOLS[name], port) for name, port in {"USERS": scram, "OWNERS": mutual}.items()
    )
    platform = Platform(folder / "platform", broker=Additions(listeners, settings))
    return Secured(platform, authority, f"{HOST}:{scram}", f"{HOST}:{mutual}")
