"""What is run in the simulated cluster, and how many faults happen."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tests.runtime.simulator.setup import Setup


@dataclass(frozen=True, slots=True)
class LeaseSetup:
    """What is run with the driver's side.

    Args:
        plain: what is run, and how many faults of workers happen.
        seconds: for which faults may happen.
        rate: faults of drivers, executors and clocks per simulated second.
        kinds: of the faults that may happen (names of methods of `Faults`).
        adds_partitions: whether the input gets as many partitions again, with records.
        outlasts_grace: whether the run continues until loops of earlier leases must have ended.
        end: what happens once everything is processed: one of `Ending`'s methods, or "".
    """

    plain: Setup = field(default_factory=lambda: Setup("sum", 2, 2, 2, records=40, is_live=True, trouble=0.002))
    seconds: float = 40.0
    rate: float = 0.1
    kinds: tuple[str, ...] = (
        "kill_driver",
        "freeze_driver",
        "add_second_driver",
        "kill_executor",
        "add_executor",
        "kill_process",
        "freeze_process",
        "cut_off_process",
        "set_clock",
        "move_coordinator",
    )
    adds_partitions: bool = False
    outlasts_grace: bool = False
    end: str = ""


def lease_setup_of(seed: int) -> LeaseSetup:
    """Return the setup of a seed: every second one adds partitions, every fourth changes the number of groups."""
    end = ("stop", "stop_without_broker", "change_without_broker")[seed // 2 % 3]
    setup = LeaseSetup(adds_partitions=seed % 2 == 1, outlasts_grace=seed % 3 == 0, end=end)
    return replace(setup, kinds=(*setup.kinds, "change_groups")) if seed % 4 >= 2 else setup
