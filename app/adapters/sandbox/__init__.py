"""What keeps agents' processes apart from the machine: bubblewrap, bounds, and the attacks that
show, here and now, that the walls hold."""

from app.adapters.sandbox.attacks import ATTACKS, SMALL, Broken, broken_walls
from app.adapters.sandbox.bounds import Bounds, ControlGroups, in_force
from app.adapters.sandbox.bubblewrap import Room, SandboxedProcesses, sandboxed_argv
from app.adapters.sandbox.doortrial import OUT, broken_door
from app.adapters.sandbox.landlock import described as second_wall
from app.adapters.sandbox.preparing import OpenedPreparation, PlainPreparation
from app.adapters.sandbox.setups import ArchivedSetups, NoSetups
from app.adapters.sandbox.system import search_path
from app.adapters.sandbox.unwalled import UnwalledProcesses, below_reaper
from app.adapters.sandbox.user import described as agents_are
from app.adapters.sandbox.wayout import Egress

ALLOW_SANDBOX = (
    "Install bubblewrap, 0.8 or newer (Debian: apt-get install bubblewrap), and let Squadron's"
    " user make namespaces: Docker's own profiles (compose.yaml has the options that lift them),"
    " Ubuntu's AppArmor rule and many Kubernetes policies forbid it"
    " (docs/how-to/allow-the-sandbox.md)."
    " A service that is root makes its agents another user: in a container that takes the"
    " capabilities SYS_ADMIN and SYS_PTRACE."
    " Without a sandbox agents are this user: `sandbox: {mode: off}` in the operator's file"
    " (SQUADRON_CONFIG), on a machine of its own."
)

__all__ = [
    "ALLOW_SANDBOX",
    "ATTACKS",
    "OUT",
    "SMALL",
    "ArchivedSetups",
    "Bounds",
    "Broken",
    "ControlGroups",
    "Egress",
    "NoSetups",
    "OpenedPreparation",
    "PlainPreparation",
    "Room",
    "SandboxedProcesses",
    "UnwalledProcesses",
    "agents_are",
    "below_reaper",
    "broken_door",
    "broken_walls",
    "in_force",
    "sandboxed_argv",
    "search_path",
    "second_wall",
]
