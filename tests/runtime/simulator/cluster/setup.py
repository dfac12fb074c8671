"""The parameters of a run of the simulated cluster."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tests.runtime.simulator.setup import Setup


@dataclass(frozen=True, slots=True)
class LeaseSetup:
    """The job of a run that includes drivers and executors, and the kinds and rates of faults.

    Args:
        plain: The job, and the faults of workers.
        seconds: Time in which faults may happen.
        rate: Number of faults of drivers, executors and clocks per simulated second.
        kinds: Kinds of faults that may happen (names of methods of `Faults`).
        adds_partitions: Whether the number of the input's partitions is doubled, and the new partitions get records.
        grows_late: Whether partitions are added only after the last fault.
        recreates_input: Whether the input is deleted and recreated with other records, so that the job must stop.
        drains: Whether each driver runs with end offsets (`--trigger available-now`), and another driver follows it.
        outlasts_grace: Whether the run continues until the loops of earlier leases must have ended.
        end: Method of `Ending` that ends the run after all records are processed, or "".
    """

    plain: Setup = field(default_factory=lambda: Setup("sum", 2, 2, 2, records=40, is_live=True, trouble=0.002))
    seconds: float = 40.0
    rate: float = 0.1
    kinds: tuple[str, ...] = (
        "kill_driver",
        "freeze_driver",
        "add_second_driver",
        "kill_executor",
        "lose_executor",
        "add_executor",
        "kill_process",
        "freeze_process",
        "cut_off_process",
        "set_clock",
        "move_coordinator",
        "compact",
        "damage_snapshots",
    )
    adds_partitions: bool = False
    grows_late: bool = False
    recreates_input: bool = False
    drains: bool = False
    outlasts_grace: bool = False
    end: str = ""


def draining_setup() -> LeaseSetup:
    """Return a setup of runs with end offsets, and all faults."""
    setup = LeaseSetup(drains=True, rate=0.3)
    return replace(setup, kinds=(*setup.kinds, "change_groups"))


def lease_setup_of(seed: int) -> LeaseSetup:
    """Return the setup of a seed. Some setups add partitions, are rescaled, or have several sub-topologies."""
    ends = ("stop", "vanish", "stop_without_broker", "change_without_broker", "change_before_report")
    end = (*ends, "change_with_a_clock_ahead")[seed // 2 % 6]
    rate = (0.1, 0.3)[seed // 8 % 2]
    setup = LeaseSetup(rate=rate, adds_partitions=seed % 2 == 1, outlasts_grace=seed % 3 == 0, end=end)
    if seed % 5 == 4:
        # The results of several groups would depend on the records' delay: see `setups.setup_of`.
        plain = replace(setup.plain, topology=("windows", "chain")[seed % 2], groups=1)
        return replace(setup, plain=plain, adds_partitions=False)
    if seed % 5 == 3:
        plain = replace(setup.plain, topology="counts", partitions=4)
        return replace(setup, plain=plain, kinds=(*setup.kinds, "rescale"))
    return replace(setup, kinds=(*setup.kinds, "change_groups")) if seed % 4 >= 2 else setup
