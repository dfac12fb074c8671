"""Interactive queries: a job's stores, read by others while it runs; pull and push."""
