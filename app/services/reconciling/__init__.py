"""One pass over everything: what no webhook told is found by comparing with GitHub."""
