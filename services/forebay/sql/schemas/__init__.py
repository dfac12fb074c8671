"""Formats whose data contains the id of a registered schema: Avro, Protocol Buffers and JSON Schema."""
