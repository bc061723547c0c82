"""One segment of an agent at work: workspace, setup, session, gate, timer, sub-agents."""
