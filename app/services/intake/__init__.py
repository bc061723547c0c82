"""From the bytes of a webhook to a committed delivery, and from there to work in the queue."""
