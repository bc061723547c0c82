"""What people did, and what follows from it for an agent."""
