"""Finds the cause in the texts that Spark and pyspark wrap around a failure."""

from __future__ import annotations

import re

from forebay.runtime.errors import STOP_MARK

_PREFIX = re.compile(r"^\[STREAM_FAILED\] Query \[id = [^\]]*\] terminated with exception: ")
_SQLSTATE = re.compile(r"\s*SQLSTATE: \w+$")
_NAMED = re.compile(r"^(forebay\.[\w.]+|[\w.]*(Error|Exception|Unavailable|NotAuthorized)\b.*): .+")
_ROOT = "Caused by: "
_WRAPPERS = (
    "Py4JJavaError: An error occurred while calling ",
    "PythonException: An exception was thrown from the Python worker:",
)
"""Lines that pyspark writes above any failure in Java or in a worker; the cause follows."""
_SILENT = "a process of the query ended without an error message (killed, or out of memory)"
_SIZE_SIGNS = ("MemoryError", "Python worker exited unexpectedly", "Python worker exited abnormally")
"""Signs in Spark's messages of a Python worker that ran out of memory, or was killed for it."""


def is_out_of_memory(text: str) -> bool:
    """Return whether a worker seems to have died for lack of memory."""
    return any(sign in text for sign in _SIZE_SIGNS)


def stop_message(text: str) -> str | None:
    """Return the message of a StopJob in the text of a failure; None if it contains none."""
    match = re.search(rf"\[{re.escape(STOP_MARK)}\] ([^\n]+)", text)
    return match.group(1).strip() if match else None


def cause_of(text: str) -> str:
    """Return the most informative line of a Python or Java failure, in at most 500 characters."""
    lines = [
        line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith(("at ", "File "))
    ]
    lines = [_SQLSTATE.sub("", _PREFIX.sub("", line)).strip() for line in lines]
    lines = [line for line in lines if not any(wrapper in line for wrapper in _WRAPPERS)]
    named = [line for line in lines if _NAMED.match(line)]
    roots = [line.removeprefix(_ROOT) for line in lines if _NAMED.match(line.removeprefix(_ROOT))]
    said = named or roots
    return (said[-1] if said else lines[0] if lines and lines[0] else _SILENT)[:500]
