"""Times as texts, by Java's patterns (`DateTimeFormatter`, names and weeks of the US locale)."""
