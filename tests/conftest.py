"""What holds for every test: nothing of the tester's own configuration reaches it."""

import os

KEPT = "SQUADRON_TEST_"
"""How names begin that are meant for the tests themselves: where, how much, from which seed."""

for _name in [name for name in os.environ if name.startswith(("SQUADRON_", "GIT_"))]:
    if not _name.startswith(KEPT):
        del os.environ[_name]
