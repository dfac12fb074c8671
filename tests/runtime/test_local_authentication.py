"""Spark's processes on one machine authenticate to each other, too."""

from __future__ import annotations

import pytest

from forebay.runtime.driver.session import SparkOptions, _common_settings
from forebay.runtime.launch.rpc_secret import ENCRYPTED


@pytest.mark.parametrize("slots", [1, 2])
def test_local_calls_are_authenticated_and_encrypted(slots: int) -> None:
    settings = _common_settings(SparkOptions(slots=slots))
    assert settings.items() >= ENCRYPTED.items()
    assert settings["spark.master"] == f"local[{slots},4]"
