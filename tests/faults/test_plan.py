"""A seed determines a run's faults, and many seeds together cover every fault."""

from __future__ import annotations

import pytest
from faults.plan import CHOSEN, CHOSEN_ON_EXECUTORS, POINT_ACTIONS, SERVICES, Kind, plan_of
from faults.points import Point


def test_a_seed_gives_the_same_plan_each_time() -> None:
    assert plan_of(7, 5) == plan_of(7, 5)
    assert len({plan_of(seed, 5) for seed in range(50)}) == 50


def test_a_run_with_several_executors_may_have_any_fault() -> None:
    assert set(CHOSEN_ON_EXECUTORS) == set(Kind)


@pytest.mark.parametrize(("executors", "kinds", "seeds"), [(1, CHOSEN, 100), (3, CHOSEN_ON_EXECUTORS, 200)])
def test_a_few_hundred_seeds_cover_every_kind_point_and_service(
    executors: int, kinds: tuple[Kind, ...], seeds: int
) -> None:
    plans = [plan_of(seed, 3, executors=executors) for seed in range(1, seeds + 1)]
    faults = [fault for plan in plans for fault in plan.faults]
    assert {fault.kind for fault in faults} == set(kinds)
    assert {fault.point for fault in faults if fault.kind is Kind.POINT} == set(Point)
    assert {plan.service for plan in plans} == set(SERVICES)


def test_a_point_has_only_actions_that_make_sense_there() -> None:
    faults = [fault for seed in range(200) for fault in plan_of(seed, 3, kinds=[Kind.POINT]).faults]
    for fault in faults:
        assert fault.point is not None
        assert fault.action in POINT_ACTIONS[fault.point]
        assert 1 <= fault.calls <= 6


def test_only_the_kinds_and_services_asked_for_are_planned() -> None:
    plan = plan_of(1, 20, ["order-stores"], [Kind.JVM_KILL, Kind.CLOCK_BACK])
    assert plan.service == "order-stores"
    assert {fault.kind for fault in plan.faults} == {Kind.JVM_KILL, Kind.CLOCK_BACK}
    assert plan.has(Kind.JVM_KILL)
    assert plan.has(Kind.DISK_FULL, Kind.CLOCK_BACK)
    assert not plan.has(Kind.DISK_FULL)


def test_labels_distinguish_points_and_actions() -> None:
    labels = {fault.label for seed in range(300) for fault in plan_of(seed, 3).faults}
    expected = {kind.value for kind in CHOSEN if kind is not Kind.POINT}
    expected |= {f"{point.value}: {action.value}" for point, actions in POINT_ACTIONS.items() for action in actions}
    assert labels == expected
