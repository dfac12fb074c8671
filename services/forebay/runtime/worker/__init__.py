"""What a worker gives the loop of a broker: readers, transactions, tails, and groups built from a job's spec."""
