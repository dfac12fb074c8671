"""A failed query is reported in one line, which names the most specific cause."""

from __future__ import annotations

import pytest

from forebay.runtime.driver.causes import cause_of

PREFIX = "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: "


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (f"{PREFIX}java.io.IOException: No space left SQLSTATE: XXKST\n  at x", "java.io.IOException: No space left"),
        (f"{PREFIX}Task failed\nTraceback\n  File x\nValueError: odd value\n", "ValueError: odd value"),
        (
            f"{PREFIX}x\nTraceback\n  File x\n"
            "py4j.protocol.Py4JJavaError: An error occurred while calling o1.collectToPython.\n"
            ": org.apache.spark.SparkException: Job aborted\n\tat x\n"
            "Caused by: java.nio.file.AccessDeniedException: bucket: no keys\n\tat x\n"
            "Caused by: sdk.SdkClientException: Access key must be specified\n\tat x\n\t... 9 more\n",
            "sdk.SdkClientException: Access key must be specified",
        ),
        (
            f"{PREFIX}[FOREACH_BATCH_USER_FUNCTION_ERROR] Reason: Return Message: Traceback (most recent call last):\n"
            "  File x\n    raise converted from None\n"
            "pyspark.errors.exceptions.captured.PythonException: An exception was thrown from the Python worker:\n"
            "Traceback (most recent call last):\n  File x\n    raise\n"
            "forebay.runtime.errors.ClientFailed: a client can't be used any more (NOT_AUTHORIZED): refused\n"
            " SQLSTATE: 39000 SQLSTATE: XXKST\n=== Streaming Query ===\n",
            "forebay.runtime.errors.ClientFailed: a client can't be used any more (NOT_AUTHORIZED): refused",
        ),
        (f"{PREFIX}Job aborted SQLSTATE: XXKST\n=== Streaming Query ===", "Job aborted"),
    ],
)
def test_the_line_that_names_the_failure_is_returned(text: str, cause: str) -> None:
    assert cause_of(text) == cause


@pytest.mark.parametrize("text", [f"{PREFIX} SQLSTATE: XXKST\n=== Streaming Query ===\n", ""])
def test_a_process_without_output_is_reported_as_such(text: str) -> None:
    assert "ended without an error message" in cause_of(text)
