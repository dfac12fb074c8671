"""Java's regular expressions, translated to those of the `regex` library."""
