"""A running engine of SQL: it takes statements, keeps them in a topic, and runs the job that they describe."""
