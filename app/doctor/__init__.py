"""Is this installation safe and complete? `squadron doctor` and the pages ask."""
