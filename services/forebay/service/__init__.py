"""What a service consists of in addition to its job: how it is found, named and checked against its entry."""
