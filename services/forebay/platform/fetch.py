"""Download broker and registry in advance, for an image: python -m forebay.platform.fetch [--record].

With --record, their checksums are recorded instead of compared. Maintainers use it after they changed a version.
"""

from __future__ import annotations

import sys
from pathlib import Path

from forebay.platform.artifacts import kafka_artifacts, kafka_classpath, registry_artifact, registry_jar
from forebay.platform.checksums import RECORD, lines_of
from forebay.platform.errors import PlatformError
from forebay.platform.progress import SilentProgress


def main(arguments: list[str]) -> None:
    """Download both. If this fails, print the reason on stderr and exit with 1."""
    progress = SilentProgress()
    try:
        if "--record" in arguments:
            with progress.download("the jars to record") as download:
                artifacts = [*kafka_artifacts(download), registry_artifact(download)]
                RECORD.write_text(lines_of(Path(artifact.resolve()) for artifact in artifacts), encoding="utf-8")
            return
        kafka_classpath(progress)
        registry_jar(progress)
    except PlatformError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
