"""A service tried before it runs: what is loaded, and its first records through its logic, without Spark and Kafka."""
