"""A repository's configuration: read, checked on pull requests, told of when it is broken."""
