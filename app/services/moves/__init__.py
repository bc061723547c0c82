"""What changes the state of an agent: its work is kept first, then its row moves on."""
