"""Access to Kafka and the schema registry: settings, topics, schemas."""
