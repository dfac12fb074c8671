"""Conformance tests of stores and operators, with cases that are written as data in JSON files."""
