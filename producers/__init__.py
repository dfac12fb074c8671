"""Synthetic, seeded event producers: one generator per topic, one sending part for all."""
