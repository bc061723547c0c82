"""`squadron setup`: registers the operator's GitHub App, and keeps its secrets."""
