"""What a job may declare."""

from dataclasses import dataclass

import pytest

from forebay.job import Job
from tests.runtime.task_records import Number, Sum, Total


@dataclass(frozen=True)
class Settings:
    pass


def test_only_inputs_can_be_tables() -> None:
    with pytest.raises(ValueError, match="tables prices are no inputs: choose from numbers, orders"):
        Job(
            inputs={"numbers": Number, "orders": Number},
            outputs={"totals": Total},
            settings=Settings,
            processor=lambda _: Sum(),
            tables=frozenset({"prices", "orders"}),
        )
