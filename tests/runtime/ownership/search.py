"""A breadth-first search through all states of the model of the ownership protocol."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from tests.runtime.ownership.model import Group, Rules, State, Violation, steps


@dataclass(frozen=True, slots=True)
class Search:
    """The result of a search.

    Args:
        states: Number of visited states.
        violation: Description of the violation, or "".
        trace: Shortest sequence of steps that leads to the violation.
    """

    states: int
    violation: str = ""
    trace: tuple[str, ...] = ()


def explore(groups: int, faults: int, commits: int, rules: Rules | None = None) -> Search:
    """Visit all states. A violation is a wrong commit, or a state from which not all input can be processed."""
    begin = State((Group(),) * groups, faults)
    cause: dict[State, tuple[State, str] | None] = {begin: None}
    before: dict[State, list[State]] = {begin: []}
    queue = deque([begin])
    while queue:
        state = queue.popleft()
        try:
            for name, following in steps(state, rules or Rules(), commits):
                if following not in cause:
                    cause[following] = state, name
                    before[following] = []
                    queue.append(following)
                before[following].append(state)
        except Violation as violation:
            return Search(len(cause), str(violation), _trace(cause, state))
    stuck = cause.keys() - _able_to_reach([s for s in cause if all(g.committed == commits for g in s.groups)], before)
    if stuck:
        state = min(stuck, key=lambda one: len(_trace(cause, one)))
        return Search(len(cause), "the input can't be used up any more", _trace(cause, state))
    return Search(len(cause))


def _trace(cause: dict[State, tuple[State, str] | None], state: State) -> tuple[str, ...]:
    names = []
    while (step := cause[state]) is not None:
        state, name = step
        names.append(name)
    return tuple(reversed(names))


def _able_to_reach(goals: list[State], before: dict[State, list[State]]) -> set[State]:
    reached, queue = set(goals), deque(goals)
    while queue:
        for state in before[queue.popleft()]:
            if state not in reached:
                reached.add(state)
                queue.append(state)
    return reached
