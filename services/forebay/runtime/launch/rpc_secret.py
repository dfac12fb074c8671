"""The secret by which a driver and its executors authenticate to each other, and which encrypts their calls."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path

ENCRYPTED: Mapping[str, str] = {
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.authEngineVersion": "2",
    "spark.network.crypto.cipher": "AES/GCM/NoPadding",
}
"""Settings that must be equal on both sides. In a single JVM, Spark creates the secret."""

ENVIRONMENT = "_SPARK_AUTH_SECRET"
"""Environment variable from which Spark's executors read the secret (SecurityManager.ENV_AUTH_SECRET)."""


class NoSecret(ValueError):
    """The secret's file can't be read, or is too short."""


_LEAST_BYTES = 16


def driver_settings(file: Path) -> dict[str, str]:
    """Return the settings of a driver's Spark, which reads the file itself."""
    return {**ENCRYPTED, "spark.authenticate.secret.file": str(file)}


def executor_environment(file: Path) -> dict[str, str]:
    """Return the environment variables for an executor's process. Raises NoSecret."""
    return {ENVIRONMENT: read_secret(file)}


def read_secret(file: Path) -> str:
    """Return the secret in the form in which Spark reads it from a file: its bytes in base64. Raises NoSecret."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise NoSecret(f"{file} can't be read: {error.strerror}") from error
    if len(content) < _LEAST_BYTES:
        raise NoSecret(f"{file} has {len(content)} bytes: a secret has at least {_LEAST_BYTES}")
    return b64encode(content).decode("ascii")
