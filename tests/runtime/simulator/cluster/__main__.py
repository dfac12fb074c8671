"""Command that runs the simulated cluster with many seeds: python -m tests.runtime.simulator.cluster --runs 100."""

from __future__ import annotations

import argparse
import itertools
import logging
import time
import traceback
from collections import Counter

from tests.runtime.simulator.cluster.check import cluster_faults
from tests.runtime.simulator.cluster.setup import LeaseSetup, draining_setup, lease_setup_of

_MODULE = "tests.runtime.simulator.cluster"


def setup_of(seed: int) -> LeaseSetup:
    """Return the setup of a seed.

    The input of every eighth is recreated, so that the job stops. Every eighth runs with end offsets.
    """
    if seed % 8 == 6:
        return draining_setup()
    return LeaseSetup(recreates_input=True) if seed % 8 == 7 else lease_setup_of(seed)


def main() -> int:
    """Run all seeds. Return 1 if any run shows an error."""
    parser = argparse.ArgumentParser(prog=f"python -m {_MODULE}", description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--hours", type=float, help="run seeds until this time is over, in place of --runs")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--verbose", action="store_true", help="the runtime's log, and where a run stopped")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.disable(logging.NOTSET if options.verbose else logging.CRITICAL)
    failed, runs, seconds, seen = 0, 0, 0.0, Counter[str]()
    begun = time.monotonic()
    for seed in itertools.count(options.first):
        spent = time.monotonic() - begun
        if spent >= options.hours * 3_600 if options.hours is not None else runs >= options.runs:
            break
        runs += 1
        try:
            cluster, findings = cluster_faults(setup_of(seed), seed)
            seen += cluster.seen
            seconds += cluster.broker.now
        except Exception as error:  # a run that stops must not stop the others
            findings = [f"{type(error).__name__}: {error}"]
            if options.verbose:
                traceback.print_exc()
        if findings:
            failed += 1
            print(f"seed {seed}:", *(f"    {finding[:300]}" for finding in findings[:5]), sep="\n")
            print(
                f"    replay: python -m tests.runtime.simulator.cluster --verbose --runs 1 --first {seed}", flush=True
            )
    print(f"{runs - failed} runs without a fault, {failed} not", *sorted(seen.items()), sep="\n  ")
    print(f"{seconds / 3_600:.2f} simulated hours in {time.monotonic() - begun:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
