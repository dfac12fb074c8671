"""Random contracts and records: both implementations and fastavro agree.

`python -m tests.serde.fuzz 24000` runs more cases.
"""

from __future__ import annotations

import pytest

from tests.serde.fuzz import check

pytestmark = pytest.mark.long


@pytest.mark.parametrize("first", range(0, 100, 20))
def test_random_contracts(first: int) -> None:
    for seed in range(first, first + 20):
        check(seed, cases=5)
