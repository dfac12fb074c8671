"""Proves the stores and operators against cases written as data: any directory of files in that format."""
