"""What each process of a job does for itself: it logs, measures its memory, notices that it hangs or is alone."""
