"""Formats whose bytes name a schema in a registry: Avro, Protocol Buffers, JSON Schema; and schemas as columns."""
