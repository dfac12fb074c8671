"""A window's row does not grow with its events."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.windowed_metrics.harness import driver, metric, pipe, states

pytestmark = pytest.mark.long


def test_the_last_samples_are_kept() -> None:
    task = driver()
    for at in range(25):
        sampling = pipe(task, at, float(at)).sampling
    assert sampling.total_samples == 10
    assert sampling.recent_values == (22.0, 23.0, 24.0)
    assert states(task)["s1", "cpu_usage", 0].samples == tuple(map(float, range(15, 25)))


def test_fewer_samples_than_are_shown() -> None:
    task = driver(samples=2)
    for at in range(5):
        sampling = pipe(task, at, float(at)).sampling
    assert (sampling.recent_values, sampling.total_samples) == ((3.0, 4.0), 2)


def test_lists_lose_their_oldest_entry() -> None:
    task = driver(list_limit=2)
    for at, name in enumerate("abca"):
        result = pipe(task, at, datacenter=name, environment=name, service=name).distribution
    assert (result.datacenters, result.environments, result.services) == (("c", "a"), ("c", "a"), ("c", "a"))


@settings(deadline=None, max_examples=20)
@given(st.lists(st.text(max_size=3), min_size=150, max_size=400), st.integers(1, 20))
def test_no_list_is_ever_longer_than_its_limit(names: list[str], limit: int) -> None:
    task = driver(list_limit=limit, samples=limit)
    task.run_batch(
        [("s1", metric(at, datacenter=name, environment=name, service=name)) for at, name in enumerate(names)]
    )
    state = states(task)["s1", "cpu_usage", 0]
    assert state.count == len(names)
    for item in (state.samples, state.datacenters, state.environments, state.services):
        assert len(item) <= limit
