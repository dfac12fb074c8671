"""Windowed metrics: server_metrics -> windowed_metrics."""
