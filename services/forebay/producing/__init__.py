"""Generates and sends synthetic, seeded events; a topic's generator is in the folder of its service."""
