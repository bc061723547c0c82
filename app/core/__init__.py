"""The pure core: `(counters, event, limits) -> (counters, verdict)`, and what follows from it.

Nothing here does I/O, waits, reads a clock, logs, or imports third-party code; import-linter
enforces it. Time comes in with the event.
"""
