"""The loop's access to the broker: readers, transactions, tails, and task groups that are built from a job's spec."""
