"""`squadron` whose timers see no deadline: what reconciliation alone stops."""

import math

from app.cli.main import main
from app.core.breaker import clocks as deadlines
from app.services.segment import supervision as stretch

for module, name, value in (
    (stretch, "seconds_left", lambda *_: math.inf),
    (stretch, "TICK_SECONDS", math.inf),
    (deadlines, "GRACE_SECONDS", 0),
):
    setattr(module, name, value)

if __name__ == "__main__":
    main()
