"""What Forebay asks of Kafka and the schema registry: settings, topics, schemas."""
