"""One file a migration; a released one is never edited."""
