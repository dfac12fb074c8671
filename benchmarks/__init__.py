"""Measured, never asserted: each benchmark prints its figures and a ratio to a reference of the same run."""
