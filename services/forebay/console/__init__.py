"""The console: a web page of jobs, with their topologies, stores, errors and topics."""
