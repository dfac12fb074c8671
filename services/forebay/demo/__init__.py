"""The demo: platform, producers and jobs as child processes, and a live view of their metrics."""
