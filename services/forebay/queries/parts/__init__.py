"""Query servers that hold a part of a job's tasks each, any of which answers for all."""
