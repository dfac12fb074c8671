"""Command that runs all benchmarks one after the other."""

from __future__ import annotations

import runpy

for name in ("serde", "stores", "loop", "growth", "backlog", "latency", "queries", "recovery"):
    print(f"\n== {name}", flush=True)
    runpy.run_module(f"benchmarks.{name}", run_name="__main__")
