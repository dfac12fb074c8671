"""Faults under load: a seeded plan, injections from outside, and checks that nothing was lost or duplicated."""
