"""Studies: which figures of the frame are compared, and how they are shown."""
