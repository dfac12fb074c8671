"""Runs the simulator for many seeds: python -m tests.runtime.simulator --runs 1000."""

from __future__ import annotations

import argparse
import logging
import traceback
from collections import Counter

from tests.runtime.simulator.outcome import faults
from tests.runtime.simulator.setups import setup_of


def main() -> int:
    """Run; return 1 if any run differs from an undisturbed one."""
    parser = argparse.ArgumentParser(prog="python -m tests.runtime.simulator", description=__doc__)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--verbose", action="store_true", help="the runtime's log, and where a run stopped")
    options = parser.parse_args()
    logging.disable(logging.NOTSET if options.verbose else logging.CRITICAL)
    failed, seen = 0, Counter[str]()
    for seed in range(options.first, options.first + options.runs):
        try:
            world, found = faults(setup_of(seed), seed)
            seen += world.seen
        except Exception as error:  # a run that stops must not stop the others
            found = [f"{type(error).__name__}: {error}"]
            if options.verbose:
                traceback.print_exc()
        if found:
            failed += 1
            print(f"seed {seed}: {setup_of(seed)}", *(f"    {fault[:300]}" for fault in found[:5]), sep="\n")
    print(f"{options.runs - failed} runs as undisturbed, {failed} not", *sorted(seen.items()), sep="\n  ")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
