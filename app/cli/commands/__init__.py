"""What each command takes, and what its help says. What it does is imported when it is called: the
service and the database take a second to import, and help needs none of it."""
