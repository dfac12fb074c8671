"""Scalar functions of SQL, with the signatures that ksqlDB documents."""
