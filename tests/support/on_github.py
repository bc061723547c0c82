"""`squadron` for which the box is GitHub's own: the limits on content hold, so it keeps a pace."""

from app import bootstrap
from app.cli.main import main

if __name__ == "__main__":
    vars(bootstrap)["is_limited"] = lambda host: True
    main()
