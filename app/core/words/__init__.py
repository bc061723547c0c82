"""All words of Squadron, for people and for agents."""
