"""Which effects an agent's state calls for, how each is marked, and when it is tried again."""
