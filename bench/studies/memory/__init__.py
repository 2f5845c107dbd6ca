"""What a thread, a task, a fetch in flight costs in each layer of memory, and how many are held at once."""
