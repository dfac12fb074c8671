"""Seeded runs under faults and their report: `make faults RUNS=100 SEED=1`.

The exit code is 1 if anything was lost or duplicated or a job did not recover, and 2 if there was no run at all.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Event

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from faults.broker import FaultyPlatform
from faults.plan import SERVICES, Kind, plan_of
from faults.report import Tally, line_of
from faults.running import run_plan

_asked = Event()
"""Whether an interrupt has requested the end of the runs."""


def main(arguments: Sequence[str]) -> int:
    """Run the plans of consecutive seeds."""
    options = _options(arguments)
    signal.signal(signal.SIGTERM, _end)
    signal.signal(signal.SIGINT, _end)
    before = _earlier(options.report) if options.resume else Tally()
    tally = _side_by_side(arguments, options, before) if options.jobs > 1 else _in_turn(options, before)
    print(f"\n{tally.as_text()}\nreport: {options.report}")
    if not any(not run.skipped for run in tally.runs):
        return 2
    return 1 if tally.failed else 0


def _end(*_: object) -> None:
    _asked.set()
    raise KeyboardInterrupt


def _earlier(report: Path) -> Tally:
    return Tally.of_json(json.loads(report.read_text())) if report.exists() else Tally()


def _in_turn(options: argparse.Namespace, tally: Tally) -> Tally:
    """Run the seeds that are missing in the tally one by one, and add their runs."""
    services = tuple(options.service) or SERVICES
    kinds = tuple(Kind[name] for name in options.kind)
    seeds = [seed for seed in range(options.seed, options.seed + options.runs, options.step) if seed not in tally.seeds]
    if options.folder is not None:
        Path(options.folder).mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="forebay-faults-", dir=options.folder))
    end = time.monotonic() + options.minutes * 60 if options.minutes else float("inf")
    try:
        with FaultyPlatform(folder / "platform") as platform:
            for number, seed in enumerate(seeds, 1):
                if time.monotonic() > end:
                    break
                place = folder / str(seed)
                plan = plan_of(seed, options.faults, services, kinds, options.executors)
                run = run_plan(platform, plan, place)
                if _asked.is_set():
                    # A client call turned the interrupt into an error, so the result of this run is meaningless.
                    raise KeyboardInterrupt
                tally.runs.append(run)
                print(f"[{number}/{len(seeds)}] load {os.getloadavg()[0]:.1f}: {line_of(run)}", flush=True)
                if not run.failure and not options.keep:
                    shutil.rmtree(place, ignore_errors=True)
                else:
                    print(f"its logs are kept in {place}", flush=True)
                _write(options.report, tally)
            platform.proxy.close()
    except KeyboardInterrupt:
        print("interrupted: the report covers the runs so far")
    if not tally.failed and not options.keep:
        shutil.rmtree(folder, ignore_errors=True)
    return tally


def _side_by_side(arguments: Sequence[str], options: argparse.Namespace, before: Tally) -> Tally:
    """Divide the seeds among processes, each of which has a separate broker, and return all runs."""
    with tempfile.TemporaryDirectory() as folder:
        reports, processes = [], []
        for job in range(options.jobs):
            reports.append(Path(folder, f"{job}.json"))
            _write(reports[-1], before)
            seeds = ["--seed", str(options.seed + job), "--runs", str(options.runs - job), "--step", str(options.jobs)]
            part = ["--jobs", "1", *seeds, "--resume", "--report", str(reports[-1])]
            processes.append(subprocess.Popen([sys.executable, __file__, *arguments, *part], start_new_session=True))
        try:
            for process in processes:
                process.wait()
        except KeyboardInterrupt:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()
        tally = Tally.of_json(*(json.loads(report.read_text()) for report in reports))
    _write(options.report, tally)
    return tally


def _write(report: Path, tally: Tally) -> None:
    report.write_text(json.dumps(tally.as_json(), indent=1) + "\n")


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run services under seeded faults and check that they stay exact.")
    parser.add_argument("--runs", type=int, default=100, help="number of runs")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first run; the next ones follow")
    parser.add_argument("--faults", type=int, default=3, help="faults in each run")
    parser.add_argument("--service", action="append", default=[], choices=sorted(set(SERVICES)), help="only these")
    parser.add_argument(
        "--kind", action="append", default=[], choices=[kind.name for kind in Kind], help="only these kinds of faults"
    )
    parser.add_argument("--executors", type=int, default=1, help="executors of each job; 1: the driver's JVM")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, each with a broker of its own")
    parser.add_argument("--step", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--resume", action="store_true", help="keep the runs of the report; run the seeds it has not")
    parser.add_argument("--keep", action="store_true", help="keep the logs of exact runs too")
    parser.add_argument("--minutes", type=float, default=0, help="begin no run after this time; 0: no limit")
    parser.add_argument("--folder", type=Path, default=None, help="where temporary files go")
    parser.add_argument("--report", type=Path, default=Path("faults-report.json"), help="the report as JSON")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
