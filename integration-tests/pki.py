"""A certificate authority for tests, with certificates of the broker and of clients, all PEM."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

COMMON_NAME_RULE = "RULE:^.*CN=([^,]+).*$/CN=$1/"
"""A broker's `ssl.principal.mapping.rules` that uses only the common name as the principal."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its private key."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority that signs certificates. All files are in one folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._ca = trustme.CA()
        self.certificate = folder / "ca.pem"
        self._ca.cert_pem.write_to_path(self.certificate)

    def server(self, host: str) -> Path:
        """Return a file with key and chain of a server, also for the loopback address, for Kafka's PEM stores."""
        result = self._ca.issue_cert(host, "127.0.0.1", common_name=host)
        store = self._folder / f"{host}-store.pem"
        store.write_bytes(_key(result) + _chain(result) + self._ca.cert_pem.bytes())
        return store

    def client(self, name: str, passphrase: str = "") -> Certificate:
        """Return a client's certificate for CN=<name>, whose key is encrypted if there is a passphrase."""
        result = self._ca.issue_cert(name, common_name=name)
        certificate, key = (self._folder / f"{name}.{end}" for end in ("pem", "key"))
        certificate.write_bytes(_chain(result))
        key.write_bytes(_key(result, passphrase))
        return Certificate(certificate, key)


def _chain(made: trustme.LeafCert) -> bytes:
    return b"".join(blob.bytes() for blob in made.cert_chain_pems)


def _key(made: trustme.LeafCert, passphrase: str = "") -> bytes:
    """Return a private key as PKCS #8, the only form that Kafka's PEM stores read."""
    encryption = BestAvailableEncryption(passphrase.encode()) if passphrase else NoEncryption()
    key = load_pem_private_key(made.private_key_pem.bytes(), None)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
