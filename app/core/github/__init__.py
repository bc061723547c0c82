"""What GitHub says, as values: deliveries, timelines, comments, checks, patches."""
