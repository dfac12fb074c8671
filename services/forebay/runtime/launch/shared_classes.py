"""Where the archive of Spark's classes is, and the JVM's options that use it: of drivers and of executors."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

_FIXED = ("-XX:+UnlockDiagnosticVMOptions", "-XX:ArchiveRelocationMode=0")
"""Map the archive where it was made for, as Java did up to 16: elsewhere 80 MB of it are rewritten at each start."""


def archive_file() -> Path:
    """Return the archive of Spark's classes, if there is one (`python -m forebay.runtime.driver.class_archive`)."""
    return Path(sys.prefix, "share", "forebay", f"spark-{version('pyspark')}.jsa")


def archive_options() -> tuple[str, ...]:
    """Return the JVM's options that use the archive, and keep silent about one that does not fit; none without one."""
    file = archive_file()
    if not file.exists():
        return ()
    return (*_FIXED, f"-XX:SharedArchiveFile={file}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off")


def class_path(spark: Path) -> str:
    """Return the class path as Spark's launcher has it, so that the archive fits executors too.

    The JVM compares it: an archive is for the classes of one path.

    Args:
        spark: folder of the installed pyspark.
    """
    first = sorted(spark.glob("jars/slf4j-api-*.jar"))[:1]
    return ":".join(map(str, (spark / "conf", *first, spark / "jars" / "*")))
