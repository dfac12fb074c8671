"""Runs broker or registry in the foreground of a container by replacing this process."""

from __future__ import annotations

import os
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from pathlib import Path

from forebay.platform.broker_files import broker_arguments
from forebay.platform.broker_settings import Listeners
from forebay.platform.home import make_home
from forebay.platform.java import find_java
from forebay.platform.progress import Progress
from forebay.platform.registry import registry_arguments

ANY_ADDRESS = "0.0.0.0"


def serve_broker(home: Path, listeners: Listeners, further: Mapping[str, str], progress: Progress) -> None:
    """Replace this process with a broker with its data in `home`; `further` are its settings. Raises PlatformError."""
    home = home.absolute()
    make_home(home)
    java = find_java()
    cluster_id = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    _become(java, broker_arguments(java, home / "broker", home / "logs", listeners, cluster_id, progress, further))


def serve_registry(home: Path, port: int, progress: Progress) -> None:
    """Replace this process with a registry whose data is in `home`. Raises PlatformError."""
    home = home.absolute()
    make_home(home)
    _become(find_java(), registry_arguments(home / "registry", ANY_ADDRESS, port, progress))


def _become(java: Path, arguments: list[str]) -> None:
    os.execv(java, [str(java), *arguments])
