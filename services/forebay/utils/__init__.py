"""Helpers without a relation to streams, which every package may use."""
