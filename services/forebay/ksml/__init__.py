"""Jobs of KSML definition files, which are compiled to the builder's graph."""
