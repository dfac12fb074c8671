"""Options of an S3 client, from Spark's settings of the same store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

_PREFIX = "spark.hadoop.fs.s3a."
_CONNECT_SECONDS = 5.0
_REQUEST_SECONDS = 10.0
"""Short, because a lease that waits for its snapshot delays those of all groups, whose loops wait 20 s for them."""
ATTEMPTS = 2


def store_settings(conf: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of Spark that a worker needs to open the same store."""
    return {key: value for key, value in conf.items() if key.startswith(_PREFIX)}


def s3_options(settings: Mapping[str, str]) -> dict[str, Any]:
    """Return the options of `pyarrow.fs.S3FileSystem`.

    If the settings contain no keys, the client gets them from the environment, from a web identity or from the
    machine's role, as Spark's client does.
    """
    options: dict[str, Any] = {
        "connect_timeout": _CONNECT_SECONDS,
        "request_timeout": _REQUEST_SECONDS,
        # A file is written by one request, instead of the three requests of an upload in parts.
        "allow_delayed_open": True,
    }
    endpoint = settings.get(f"{_PREFIX}endpoint", "")
    if endpoint:
        parts = urlsplit(endpoint if "://" in endpoint else f"https://{endpoint}")
        options |= {"scheme": parts.scheme, "endpoint_override": parts.netloc}
    region = settings.get(f"{_PREFIX}endpoint.region", "")
    if region or endpoint:
        # A store that is not AWS has no regions, but the client signs its requests with one and looks it up at AWS if
        # none is set.
        options["region"] = region or "us-east-1"
    if f"{_PREFIX}access.key" in settings:
        options["access_key"] = settings[f"{_PREFIX}access.key"]
        options["secret_key"] = settings.get(f"{_PREFIX}secret.key", "")
        if f"{_PREFIX}session.token" in settings:
            options["session_token"] = settings[f"{_PREFIX}session.token"]
    return options
