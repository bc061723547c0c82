"""`squadron demo`: the whole system on this machine, no account, no key."""
