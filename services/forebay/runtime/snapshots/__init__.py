"""Snapshots of tasks as files below a checkpoint: blocks of rows, and manifests that name them."""
