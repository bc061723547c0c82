"""An agent as values: its row, its event log, the fold of that log, its states."""
