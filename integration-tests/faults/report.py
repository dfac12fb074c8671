"""The results of many runs, as a readable table and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any, Self


class Status(Enum):
    """The outcome of a planned fault."""

    RECOVERED = "recovered"
    NOT_RECOVERED = "not recovered"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Suffered:
    """A fault of a run, and the job's recovery from it.

    Args:
        from_fault, from_repair: Time (s) from the fault, and from the end of the outage, to the next committed output.
        everywhere: Time (s) from the fault until every output partition had another output.
        reason: Why the fault was skipped, or what went wrong.
    """

    label: str
    status: Status
    from_fault: float = 0.0
    from_repair: float = 0.0
    everywhere: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """A run and its result.

    Args:
        outputs: Number of committed outputs that were compared.
        samples: Number of times that the tasks' positions were read.
        failure: The first difference. "" if the run is exact.
        seconds: Duration of the whole run.
    """

    seed: int
    service: str
    suffered: tuple[Suffered, ...]
    outputs: int = 0
    samples: int = 0
    lost: int = 0
    doubled: int = 0
    failure: str = ""
    seconds: float = 0.0

    @property
    def skipped(self) -> bool:
        """Whether all faults were skipped, so that the run proves nothing."""
        return bool(self.suffered) and all(fault.status is Status.SKIPPED for fault in self.suffered)


@dataclass(slots=True)
class Tally:
    """All runs so far."""

    runs: list[Run] = field(default_factory=list)

    @classmethod
    def of_json(cls, *reports: dict[str, Any]) -> Self:
        """Return the runs of several reports in order of their seeds, without repetitions."""
        runs = {
            run["seed"]: Run(
                **{**run, "suffered": tuple(Suffered(**{**f, "status": Status(f["status"])}) for f in run["suffered"])}
            )
            for report in reports
            for run in report["details"]
        }
        return cls([runs[seed] for seed in sorted(runs)])

    @property
    def seeds(self) -> set[int]:
        """The seeds of all runs."""
        return {run.seed for run in self.runs}

    @property
    def failed(self) -> list[Run]:
        """Runs that lost or duplicated something, or did not recover."""
        return [run for run in self.runs if run.failure or run.lost or run.doubled]

    def of_kinds(self) -> dict[str, list[Suffered]]:
        """Return the faults by label."""
        kinds: dict[str, list[Suffered]] = {}
        for run in self.runs:
            for fault in run.suffered:
                kinds.setdefault(fault.label, []).append(fault)
        return dict(sorted(kinds.items()))

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return {
            **self._sums(),
            "faults_by_kind": {label: _figures(faults) for label, faults in self.of_kinds().items()},
            "details": [_plain(asdict(run)) for run in self.runs],
        }

    def as_text(self) -> str:
        """Return the table of faults, followed by the totals."""
        kinds = self.of_kinds()
        width = max((len(label) for label in kinds), default=10)
        titles = (
            "injected  skipped  failed  next output p50   worst  every partition p50   worst  after repair p50   worst"
        )
        head = f"{'fault (times in s)':{width}}  {titles}"
        lines = [head, *(_line(label, faults, width) for label, faults in kinds.items())]
        every = _figures([fault for faults in kinds.values() for fault in faults])
        lines.append(_row("all", every, width))
        sums = self._sums()
        lines += ["", ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in sums.items())]
        return "\n".join(lines)

    def _sums(self) -> dict[str, int]:
        faults = [fault for run in self.runs for fault in run.suffered]
        return {
            "runs": sum(not run.skipped for run in self.runs),
            "runs_skipped": sum(run.skipped for run in self.runs),
            "runs_failed": len(self.failed),
            "faults_injected": sum(fault.status is not Status.SKIPPED for fault in faults),
            "faults_skipped": sum(fault.status is Status.SKIPPED for fault in faults),
            "outputs_compared": sum(run.outputs for run in self.runs),
            "lost": sum(run.lost for run in self.runs),
            "duplicated": sum(run.doubled for run in self.runs),
        }


def line_of(run: Run) -> str:
    """Return a run as one line."""
    verdict = "exact" if not run.failure else f"FAILED: {run.failure.splitlines()[0][:200]}"
    faults = "; ".join(_short(fault) for fault in run.suffered)
    return f"seed {run.seed} {run.service}: {verdict}; {run.outputs} outputs, {run.seconds:.0f} s; {faults}"


def percentile(values: Iterable[float], share: float) -> float:
    """Return the smallest value that at least this share of values does not exceed, or NaN without values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else math.nan


def _short(fault: Suffered) -> str:
    if fault.status is Status.RECOVERED:
        return f"{fault.label} {fault.from_fault:.1f} s"
    return f"{fault.label} {fault.status.value.upper()} ({fault.reason.splitlines()[0][:120] if fault.reason else ''})"


def _figures(faults: Sequence[Suffered]) -> dict[str, float]:
    recovered = [fault for fault in faults if fault.status is Status.RECOVERED]
    return {
        "injected": sum(fault.status is not Status.SKIPPED for fault in faults),
        "skipped": sum(fault.status is Status.SKIPPED for fault in faults),
        "failed": sum(fault.status is Status.NOT_RECOVERED for fault in faults),
        "recovery_p50_s": percentile((fault.from_fault for fault in recovered), 0.5),
        "recovery_worst_s": percentile((fault.from_fault for fault in recovered), 1.0),
        "every_partition_p50_s": percentile((fault.everywhere for fault in recovered), 0.5),
        "every_partition_worst_s": percentile((fault.everywhere for fault in recovered), 1.0),
        "after_repair_p50_s": percentile((fault.from_repair for fault in recovered), 0.5),
        "after_repair_worst_s": percentile((fault.from_repair for fault in recovered), 1.0),
    }


def _line(label: str, faults: Sequence[Suffered], width: int) -> str:
    return _row(label, _figures(faults), width)


def _row(label: str, figures: dict[str, float], width: int) -> str:
    counts = f"{figures['injected']:8d}  {figures['skipped']:7d}  {figures['failed']:6d}"
    times = f"{figures['recovery_p50_s']:15.1f}  {figures['recovery_worst_s']:6.1f}"
    every = f"{figures['every_partition_p50_s']:19.1f}  {figures['every_partition_worst_s']:6.1f}"
    after = f"{figures['after_repair_p50_s']:16.1f}  {figures['after_repair_worst_s']:6.1f}"
    return f"{label:{width}}  {counts}  {times}  {every}  {after}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.value if isinstance(value, Enum) else value
