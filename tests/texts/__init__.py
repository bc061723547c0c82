"""Every text that people read on GitHub, whole, so that a review sees words change.

`docs/reference/texts.md` is made from these. After a change of words, `python -m pytest tests/texts
--inline-snapshot=fix` writes the new ones down, and `make docs` the page.
"""
