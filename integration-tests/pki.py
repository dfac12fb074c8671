"""A certificate authority of the test's own, made by openssl: the broker's certificate and clients' ones."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

_DAYS = "2"
_CURVE = ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its private key, both PEM."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates; everything lies in one folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._key = self._new_key("ca")
        self.certificate = folder / "ca.pem"
        subject = ("-subj", "/CN=Forebay test CA", "-days", _DAYS)
        _openssl("req", "-x509", "-new", "-key", str(self._key), "-out", str(self.certificate), *subject)

    def server(self, host: str) -> Path:
        """Return a file with key and chain of a server, also on the loopback address, as Kafka's PEM stores want it."""
        made = self._signed(host, f"subjectAltName=DNS:{host},IP:127.0.0.1")
        store = self._folder / f"{host}-store.pem"
        parts = (made.key, made.certificate, self.certificate)
        store.write_text("".join(part.read_text() for part in parts))
        return store

    def client(self, name: str, passphrase: str = "") -> Certificate:
        """Return a client's certificate for CN=<name>, its key encrypted if there is a passphrase."""
        made = self._signed(name, "extendedKeyUsage=clientAuth")
        if not passphrase:
            return made
        encrypted = self._folder / f"{name}-encrypted.key"
        _openssl(
            *("pkcs8", "-topk8", "-in", str(made.key), "-out", str(encrypted), "-v2", "aes-256-cbc"),
            *("-passout", "stdin"),
            given=passphrase,
        )
        return Certificate(made.certificate, encrypted)

    def _signed(self, name: str, extension: str) -> Certificate:
        key = self._new_key(name)
        request, certificate, extensions = (self._folder / f"{name}.{end}" for end in ("csr", "pem", "ext"))
        extensions.write_text(extension)
        _openssl("req", "-new", "-key", str(key), "-out", str(request), "-subj", f"/CN={name}")
        _openssl(
            *("x509", "-req", "-in", str(request), "-out", str(certificate), "-days", _DAYS),
            *("-CA", str(self.certificate), "-CAkey", str(self._key), "-CAcreateserial", "-extfile", str(extensions)),
        )
        return Certificate(certificate, key)

    def _new_key(self, name: str) -> Path:
        key = self._folder / f"{name}.key"
        _openssl("genpkey", *_CURVE, "-out", str(key))
        return key


def _openssl(*arguments: str, given: str = "") -> None:
    done = subprocess.run(["openssl", *arguments], input=given, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, f"openssl {arguments[0]}: {done.stderr}"
