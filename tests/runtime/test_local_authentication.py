"""Spark's processes on one machine prove themselves to each other, too."""

from __future__ import annotations

import pytest

from forebay.runtime.rpc_secret import ENCRYPTED, local_settings

SECRET = "spark.authenticate.secret"


@pytest.mark.parametrize("slots", [1, 2])
def test_calls_are_proven_and_encrypted(slots: int) -> None:
    assert local_settings(slots).items() >= ENCRYPTED.items()


def test_with_one_slot_spark_makes_the_secret_itself() -> None:
    assert SECRET not in local_settings(1)


def test_each_start_of_several_has_a_secret_of_its_own() -> None:
    first, second = local_settings(2)[SECRET], local_settings(2)[SECRET]
    assert len(first) == 64
    assert first != second
