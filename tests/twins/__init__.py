"""Twins: parts of the world as the service sees it, in this process, by a clock that is turned.

Each stands where an adapter stands in earnest, keeps what that promises (the suites in
`tests/contract` are told to both), and can be made to misbehave.
"""
