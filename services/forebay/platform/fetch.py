"""Fetch broker and registry ahead of time, for an image: python -m forebay.platform.fetch."""

from __future__ import annotations

import sys

from forebay.platform.artifacts import kafka_classpath, registry_jar
from forebay.platform.errors import PlatformError
from forebay.platform.progress import SilentProgress


def main() -> None:
    """Download both; say on stderr what is in the way and exit with 1."""
    try:
        kafka_classpath(SilentProgress())
        registry_jar(SilentProgress())
    except PlatformError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
