"""`squadron` whose agents may hold 4 MiB of the disk, not 10 GiB."""

from app.adapters.sandbox import Bounds
from app.bootstrap import Adapters
from tests.support.program import squadron

if __name__ == "__main__":
    squadron(Adapters(bounds=Bounds(disk_bytes=4 * 1024**2)))
