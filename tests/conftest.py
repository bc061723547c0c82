"""What holds for every test: nothing of the tester's own configuration reaches it."""

import gc
import os

gc.set_threshold(100_000, 50, 100)
"""What is imported stays: to look through it again and again takes a tenth of the time."""

KEPT = "SQUADRON_TEST_"
"""How names begin that are meant for the tests themselves: where, how much, from which seed."""

for _name in [name for name in os.environ if name.startswith(("SQUADRON_", "GIT_"))]:
    if not _name.startswith(KEPT):
        del os.environ[_name]
