"""What people can write or press, as values."""
