"""What makes synthetic, seeded events of a topic and sends them; a topic's generator is beside its service."""
