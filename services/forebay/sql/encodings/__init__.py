"""Encodings of rows in topics: JSON, DELIMITED, KAFKA, and formats with a schema."""
