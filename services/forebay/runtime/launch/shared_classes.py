"""The path of the archive of Spark's classes, and the options with which the JVMs of drivers and executors use it."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

_FIXED = ("-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0")
"""Map the archive at its own address, as Java did up to 16. Otherwise 80 MB of it are rewritten at each start."""


def archive_file() -> Path:
    """Return the path of the archive of Spark's classes (see `python -m forebay.runtime.driver.class_archive`)."""
    return Path(sys.prefix, "share", "forebay", f"spark-{version('pyspark')}.jsa")


def archive_options() -> tuple[str, ...]:
    """Return the JVM's options that use the archive, without messages if it does not fit; () if it does not exist."""
    file = archive_file()
    if not file.exists():
        return ()
    return (*_FIXED, f"-XX:SharedArchiveFile={file}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off")


def class_path(spark: Path) -> str:
    """Return the class path in the form of Spark's launcher, so that the archive fits executors, too.

    The JVM compares it, because an archive is valid for one class path only.

    Args:
        spark: folder of the installed pyspark.
    """
    first = sorted(spark.glob("jars/slf4j-api-*.jar"))[:1]
    return ":".join(map(str, (spark / "conf", *first, spark / "jars" / "*")))
