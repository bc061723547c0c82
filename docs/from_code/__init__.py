"""What the documents take from the code, so that neither says what the other does not.

A page has a place for it: everything between `<!-- from the code: NAME -->` and `<!-- end -->`.
`python -m docs.from_code` writes all of these places anew; people write the words around them.
"""
