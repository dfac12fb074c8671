"""The job's driver: the application, its Spark session and query, and what it checks at a start."""
