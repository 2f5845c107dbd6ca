"""What this harness finds of itself: noise, false alarms, and how large a slowdown it detects in how much time."""
