"""What an agent's clone holds and GitHub does not, in one piece, from which another machine can go
on: a line that says what the work rests on, then a bundle as git makes it."""

import asyncio
import re
from typing import Final

from app.adapters.workspace.clone import Unpushed, make_clone
from app.adapters.workspace.commits import is_ancestor, merge_base
from app.adapters.workspace.handover import Handover
from app.adapters.workspace.host_git import HostGit
from app.adapters.workspace.mirror import Mirror
from app.adapters.workspace.packed import TooMuch
from app.adapters.workspace.places import Place
from app.ports import WORK_IN_PROGRESS, CheckoutOrder, WorkspaceFailed

_REF: Final = "refs/squadron/unpushed"
_FIRST_LINE: Final = re.compile(rb"([0-9a-f]{40}) ([0-9a-f]{40})?")


async def packed(handover: Handover, order: CheckoutOrder, most_bytes: int) -> bytes:
    """Empty: GitHub was seen to hold all. Raises `TooMuch`; `WorkspaceFailed`."""
    work = await handover.draft(order, f"{WORK_IN_PROGRESS} of {order.agent}")
    pushed, lesser = await handover.known("pushed"), await handover.known_if_any("lesser")
    if await handover.is_ancestor(work, pushed):
        return b""
    await handover.note(unpushed=work)
    file = handover.place.bundle
    await handover.git(
        handover.place.handover, "bundle", "create", "--quiet", str(file), _REF, f"^{pushed}"
    )
    if file.stat().st_size > most_bytes:
        raise TooMuch(f"more than {most_bytes} bytes, compressed")
    return f"{pushed} {lesser or ''}\n".encode() + await asyncio.to_thread(file.read_bytes)


async def unpack(
    git: HostGit, mirror: Mirror, place: Place, order: CheckoutOrder, content: bytes
) -> None:
    """Make a clone that holds it. Raises `WorkspaceFailed`."""
    first, _, bundle = content.partition(b"\n")
    said = _FIRST_LINE.fullmatch(first)
    if said is None:
        raise WorkspaceFailed("The kept work is damaged: it does not say what it rests on.")
    pushed, lesser = said[1].decode(), (said[2] or b"").decode()
    heads = await mirror.refresh(order.default_branch, order.branch)
    default, head = heads.get(order.default_branch), heads.get(order.branch)
    if not (default and head and await is_ancestor(git, mirror.directory, pushed, head)):
        raise WorkspaceFailed(
            f"The kept work rests on {pushed[:12]}, which `{order.branch}` does not hold any more."
        )
    base = await merge_base(git, mirror.directory, default, pushed)
    await asyncio.to_thread(place.bundle.write_bytes, bundle)
    await make_clone(git, mirror, place, order, base, pushed, Unpushed(place.bundle, _REF, lesser))
