"""Tools for the charts."""
