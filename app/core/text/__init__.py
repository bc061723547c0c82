"""Text of others made safe: redacted, visible, defused, quoted."""
