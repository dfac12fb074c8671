"""The live loop: a task group polls, processes and commits while its lease lasts."""
