"""A SQL engine, which accepts statements, stores them in a topic, and runs the job that they describe."""
