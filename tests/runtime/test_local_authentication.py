"""Spark's processes on one machine authenticate to each other, too."""

from __future__ import annotations

import pytest

from forebay.runtime.rpc_secret import ENCRYPTED
from forebay.runtime.session import SparkOptions, _common_settings


@pytest.mark.parametrize("slots", [1, 2])
def test_calls_are_proven_and_encrypted(slots: int) -> None:
    settings = _common_settings(SparkOptions(slots=slots))
    assert settings.items() >= ENCRYPTED.items()
    assert settings["spark.master"] == f"local[{slots},4]"
