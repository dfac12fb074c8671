"""SQL as ksqlDB's users write it: statements become a typed plan, and the plan a topology of the DSL."""
