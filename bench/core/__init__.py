"""What both halves share: records of trials."""
