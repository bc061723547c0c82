"""One file a kind of durable work: each does what one row of the queue asks for."""
