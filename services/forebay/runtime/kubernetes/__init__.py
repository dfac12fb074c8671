"""A job on Kubernetes: its driver, and executors that join and leave the query."""
