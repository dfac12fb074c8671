"""KSML definition files as jobs: they compile to the builder's graph."""
