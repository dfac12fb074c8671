"""The job's driver: the application, its Spark session and query, and the checks before a start."""
