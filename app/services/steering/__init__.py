"""What GitHub's state says about one agent: it goes on, wakes, or has lost its work."""
