"""The HTTP server of query servers, the console and jobs."""
