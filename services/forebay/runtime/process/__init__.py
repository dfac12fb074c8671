"""Functions of every process of a job: logging, memory limits, a watchdog, and workers that survive their executor."""
