"""Query servers of which each holds a part of a job's tasks and answers queries of all tasks."""
