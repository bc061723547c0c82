"""`squadron` whose agents may hold 4 MiB of the disk, not 10 GiB."""

from functools import partial

from app import bootstrap
from app.adapters.sandbox import Bounds
from app.cli.main import main

setattr(bootstrap, "Bounds", partial(Bounds, disk_bytes=4 * 1024**2))  # noqa: B010 (not its own)

if __name__ == "__main__":
    main()
