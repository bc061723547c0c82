"""The verdict before each call, and the arithmetic of clocks, raises and sub-agents."""
