"""What an agent may spend, what it has spent, and whom that alerts."""
