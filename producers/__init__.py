"""Generators of synthetic, seeded events, one per topic. forebay.producing sends them."""
