"""What was decided beforehand: configuration, trust, brakes, protected paths."""
