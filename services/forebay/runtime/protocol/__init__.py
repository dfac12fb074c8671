"""The protocol between driver and workers: leases, positions, announced times and snapshot marks."""
