"""Where Spark comes in: it hands out leases and keeps snapshots."""
