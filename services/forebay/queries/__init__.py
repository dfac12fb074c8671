"""Interactive queries: pull and push queries of a job's stores while it runs."""
