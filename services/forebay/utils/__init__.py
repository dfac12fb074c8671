"""Small helpers that know nothing of streams, and code that every package uses."""
