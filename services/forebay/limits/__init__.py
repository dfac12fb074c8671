"""Limits of topics: which records they take, and which of a task's records fit."""
