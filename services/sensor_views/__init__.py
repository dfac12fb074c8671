"""Sensor views: readings -> avg_readings, part_avg."""
