"""The loop of a job over topics in memory, without Kafka and Spark, for test drivers and push queries."""
