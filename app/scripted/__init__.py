"""The scripted model: answers prepared in advance, in process or over the real wire formats.

It drives the demo and the tests: the tool calls, edits and denials are real, only the thinking is
not. Imports nothing from the rest of `app`.
"""
