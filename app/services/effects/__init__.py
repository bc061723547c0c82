"""What stands on GitHub about an agent: one file a kind of effect, and who walks over them."""
