"""How rows are written on topics: JSON, DELIMITED, KAFKA, and formats with a contract."""
