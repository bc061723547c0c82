"""The documents; `from_code` writes what they take from the code, `picture` what README shows."""
