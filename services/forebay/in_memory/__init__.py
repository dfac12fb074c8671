"""A job's loop over topics in memory, without Kafka and Spark: for test drivers, and for push queries."""
