"""Finds a Java that can run the broker, the registry and Spark."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from forebay.platform.errors import PlatformError

MINIMUM_JAVA = 17
_REMEDY = f"install a JRE {MINIMUM_JAVA} or newer, and put it on PATH or set JAVA_HOME"
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def find_java() -> Path:
    """Return the java executable: that of JAVA_HOME if it is set, else that on PATH.

    Raises:
        PlatformError: there is no Java, it doesn't run, or it is older than Java 17.
    """
    java = _locate()
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PlatformError(f"{java} doesn't run ({error}): {_REMEDY}.") from error
    match = _VERSION.search(answer.stderr + answer.stdout)
    if answer.returncode != 0 or match is None:
        raise PlatformError(f"{java} -version reports no version: {_REMEDY}.")
    if int(match.group(1)) < MINIMUM_JAVA:
        raise PlatformError(f"{java} is Java {match.group(1)}, but Java {MINIMUM_JAVA} or newer is needed: {_REMEDY}.")
    return java


def _locate() -> Path:
    java_home = os.environ.get("JAVA_HOME")
    if java_home:
        java = Path(java_home, "bin", "java")
        if not java.is_file():
            raise PlatformError(f"JAVA_HOME is {java_home}, but there is no bin/java in it: {_REMEDY}.")
        return java
    on_path = shutil.which("java")
    if on_path is None:
        raise PlatformError(f"no Java found (JAVA_HOME is not set, no java on PATH): {_REMEDY}.")
    return Path(on_path)


def main() -> None:
    """Check the Java. If it can't be used, print the reason on stderr and exit with 1."""
    try:
        find_java()
    except PlatformError as error:
        sys.exit(f"error: {error}")
