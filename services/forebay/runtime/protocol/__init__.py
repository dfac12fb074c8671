"""What driver and workers agree on: leases, positions, task groups."""
