"""The console: jobs, their topologies, stores, errors and topics, seen in a browser."""
