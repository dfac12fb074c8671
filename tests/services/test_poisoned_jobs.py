"""Jobs in SQL, KSML and the DSL process the records around a poisonous one, for each kind of poisonous record."""

from __future__ import annotations

import pytest

from forebay.processor.messages import Headers
from forebay.producing.base import FIXED_START_MS
from forebay.testing import TestDriver
from tests.poisoned_jobs import JOBS, good_value
from tests.poisons import PLAIN, PLAIN_KEYS

pytestmark = pytest.mark.long

NOW = FIXED_START_MS + 3_600_000
GOOD = 6
Poison = tuple[bytes | None, bytes | None, Headers]
POISONS: dict[str, Poison] = {
    **{name: (b"k", value, headers) for name, (value, headers) in PLAIN.items()},
    **{name: (key, b'{"K": "a", "N": 1, "T": "x"}', []) for name, key in PLAIN_KEYS.items()},
}


def results(kind: str, poison: Poison | None) -> TestDriver:
    """Return a job's driver that has processed good records with a poisonous one among them."""
    job = JOBS[kind]
    driver = TestDriver(job.make(), tasks=2, clock=NOW, max_output_bytes=1_000_000)
    for number in range(GOOD):
        driver.pipe_bytes(b"k", good_value(number + 1), NOW + number, job.topic)
        if poison is not None and number == GOOD // 2:
            key, value, headers = poison
            driver.pipe_bytes(key, value, NOW + number, job.topic, headers)
    return driver


@pytest.mark.parametrize("kind", JOBS)
@pytest.mark.parametrize("name", POISONS)
def test_records_around_a_poison_record_are_processed(kind: str, name: str) -> None:
    driver, undisturbed = results(kind, POISONS[name]), results(kind, None)
    assert undisturbed.errors == []
    assert len(driver.errors) <= 1
    if driver.errors:
        assert driver.errors[0].headers["error.message"]
        assert driver.outputs == undisturbed.outputs
    else:
        assert [output for output in undisturbed.outputs if output not in driver.outputs] == []
