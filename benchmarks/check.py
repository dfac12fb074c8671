"""Comparison of the current costs of store operations with stored costs, to find operations that became slower.

    python -m benchmarks.check [--store]

Costs are measured for the operations of each store type on both backends. A cost is the ratio to the CPU time of a dict
or SQLite with the same codec in the same run (see `stores`), because a ratio depends less on the machine and its load
than a time. `ratios.json` contains the stored costs. `--store` replaces them.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import click

from benchmarks.stores import KINDS, fill, measure_reference, rate
from forebay.stores.disk import DiskTable
from forebay.stores.memory import MemoryTable
from forebay.stores.table import Table
from forebay.testing.bench import Backend

FILE = Path(__file__).with_name("ratios.json")
KEYS = 10_000
WORSE = 1.5
"""Smallest growth that is reported. Ratios of two runs of the same code differ by a quarter, or more under load."""


def measure_ratios() -> dict[str, float]:
    """Return the ratio of each operation's CPU time to that of the reference."""
    ratios = {}
    for backend in Backend:
        reference = measure_reference(backend, KEYS)
        for name, kind in KINDS.items():
            with tempfile.TemporaryDirectory() as directory:
                table: Table = MemoryTable() if backend is Backend.IN_MEMORY else DiskTable(directory, "check")
                operations = kind.operations(kind.declare(KEYS), table)
                fill(operations, KEYS, kind.fills)
                for operation in kind.measured:
                    label = f"{backend.value} {name} {operation}"
                    ratios[label] = round(reference[operation] / rate(operations, operation, KEYS), 2)
                table.close()
    return ratios


def worse(stored: dict[str, float], ratios: dict[str, float]) -> list[str]:
    """Return a line for each operation whose ratio has grown, with the largest growth first."""
    grown = {name: ratio / stored[name] for name, ratio in ratios.items() if name in stored}
    names = sorted((name for name in grown if grown[name] > WORSE), key=lambda name: -grown[name])
    return [f"{name}: {ratios[name]} times the reference, {stored[name]} before" for name in names]


@click.command()
@click.option("--store", is_flag=True, help="Replace the stored ratios.")
def main(store: bool) -> None:
    """Compare the costs, and print the operations that became slower."""
    ratios = measure_ratios()
    if store:
        FILE.write_text(json.dumps(ratios, indent=1) + "\n")
        print(f"{FILE}: {len(ratios)} ratios")
        return
    lines = worse(json.loads(FILE.read_text()), ratios)
    print("\n".join(lines) or f"none of {len(ratios)} ratios is more than {WORSE} times the stored one")


if __name__ == "__main__":
    main(standalone_mode=False)
