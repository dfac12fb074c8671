"""Requests to the broker that the loop and the driver share."""
