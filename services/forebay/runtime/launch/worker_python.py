"""The program with which Spark starts Python workers."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, MutableMapping
from pathlib import Path

import pyspark

_STARTER = Path(__file__).with_suffix(".sh")


def choose_python(environment: MutableMapping[str, str]) -> None:
    """Set PYSPARK_PYTHON, unless it is set, to this interpreter, started so that it imports the installed pyspark.

    Another Spark (SPARK_HOME) may have another version than the installed one. Its workers import its own pyspark.
    """
    installed = Path(pyspark.__file__).parent.resolve()
    own = Path(environment.get("SPARK_HOME", installed)).resolve() == installed and os.access(_STARTER, os.X_OK)
    environment.setdefault("FOREBAY_PYTHON", sys.executable)
    environment.setdefault("PYSPARK_PYTHON", str(_STARTER) if own else sys.executable)


def is_own(environment: Mapping[str, str]) -> bool:
    """Return whether Spark starts Python by Forebay's program, which uses the fork server."""
    return environment.get("PYSPARK_PYTHON") == str(_STARTER)
