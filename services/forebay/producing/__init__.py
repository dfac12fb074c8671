"""Generates and sends synthetic, seeded events. Generators of topics are in the folder of their service."""
