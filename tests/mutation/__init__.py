"""Mutation testing of what is pure: small faults are planted one by one; the tests must notice.

`make mutation` runs it all, `make mutation ARGS="--sample 60 --seed 7"` a seeded part. A tool of
our own, because this must be quick enough to be used: mutmut and cosmic-ray run every test once
or twice before the first mutant, or all of them in a new process for each, and mutmut plants
nothing in catalogues, tables and defaults.
"""
