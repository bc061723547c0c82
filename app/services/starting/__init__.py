"""Whether an agent may start, what it waits for until it may, and its first row."""
