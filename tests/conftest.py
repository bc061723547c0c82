"""What holds for every test: nothing of the tester's own configuration reaches it."""

import os

KEPT = "SQUADRON_TEST_POSTGRES_URL"

for _name in [name for name in os.environ if name.startswith(("SQUADRON_", "GIT_"))]:
    if _name != KEPT:
        del os.environ[_name]
