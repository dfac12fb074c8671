"""Command that runs the simulator with many seeds: python -m tests.runtime.simulator --runs 1000."""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import time
import traceback
from collections import Counter
from dataclasses import asdict

from tests.runtime.simulator.outcome import faults
from tests.runtime.simulator.setup import Setup
from tests.runtime.simulator.setups import setup_of
from tests.runtime.simulator.shrink import shrunk


def main() -> int:
    """Run all seeds. Return 1 if any run differs from a run without faults."""
    parser = argparse.ArgumentParser(prog="python -m tests.runtime.simulator", description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--hours", type=float, help="run seeds until this time is over, in place of --runs")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--setup", type=json.loads, help="fields of the setup, in place of those that the seed draws")
    parser.add_argument("--verbose", action="store_true", help="the runtime's log, and where a run stopped")
    options = parser.parse_args()
    logging.disable(logging.NOTSET if options.verbose else logging.CRITICAL)
    failed, runs, seconds, seen = 0, 0, 0.0, Counter[str]()
    begun = time.monotonic()
    for seed in itertools.count(options.first):
        spent = time.monotonic() - begun
        if spent >= options.hours * 3_600 if options.hours is not None else runs >= options.runs:
            break
        setup = Setup(**options.setup) if options.setup else setup_of(seed)
        runs += 1
        try:
            world, findings = faults(setup, seed)
            seen += world.seen + world.broker.late.delivered
            seconds += world.broker.now - world.skipped
        except Exception as error:  # a run that stops must not stop the others
            findings = [f"{type(error).__name__}: {error}"]
            if options.verbose:
                traceback.print_exc()
        if findings:
            failed += 1
            _report(seed, setup, findings, is_given=options.setup is not None)
    print(f"{runs - failed} runs as undisturbed, {failed} not", *sorted(seen.items()), sep="\n  ")
    spent = time.monotonic() - begun
    print(
        f"{seconds / 3_600:.2f} simulated hours in {spent:.0f} s: {seconds / max(spent, 0.001):.0f} per hour and core"
    )
    return int(failed > 0)


def _report(seed: int, setup: Setup, findings: list[str], *, is_given: bool) -> None:
    """Print a failed seed, and the command that replays its smallest setup."""
    print(f"seed {seed}: {setup}", *(f"    {fault[:300]}" for fault in findings[:5]), sep="\n")
    if not is_given:
        small = json.dumps(asdict(shrunk(setup, seed)))
        print(f"    replay: python -m tests.runtime.simulator --verbose --runs 1 --first {seed} --setup '{small}'")


if __name__ == "__main__":
    raise SystemExit(main())
