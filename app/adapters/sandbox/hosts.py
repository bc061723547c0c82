"""Which hosts may be reached: the operator's list of names, and addresses that everybody sees."""

import re
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final

MOST_NAME_CHARACTERS: Final = 253
_NAME: Final = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
_NEVER: Final = tuple(
    map(
        ip_network,
        (
            "168.63.129.16/32",  # what Azure's machines are told by: public, and theirs alone
            "192.0.0.0/24",  # Oracle's metadata, among others
            "192.88.99.0/24",  # relays to IPv6
            "::/96",  # IPv4 inside IPv6, in five ways: any address could stand there
            "64:ff9b::/96",
            "64:ff9b:1::/48",
            "2001::/32",
            "2002::/16",
        ),
    )
)
"""Beside what is not global by its kind."""


def is_public(address: str) -> bool:
    """Whether it belongs to a machine on the internet: not to this one, its network, the platform
    that it runs on, or a group. False for what is no address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return parsed.is_global and not parsed.is_multicast and not _is_special(parsed)


def _is_special(address: IPv4Address | IPv6Address) -> bool:
    is_local = isinstance(address, IPv6Address) and address.is_site_local
    return is_local or any(address in network for network in _NEVER)


def plain_name(said: str) -> str | None:
    """A host's name in small letters, without a dot at its end; None: it is no name. An address is
    none: what is on no list by name is not reached by number."""
    name = said.lower().removesuffix(".")
    if len(name) > MOST_NAME_CHARACTERS or not _NAME.fullmatch(name):
        return None
    return None if name.rpartition(".")[2].isdigit() else name


def is_listed(name: str, patterns: Iterable[str]) -> bool:
    """Whether the operator lists the plain name: itself, or by `*.example.org`, which stands for
    all names below `example.org` and not for that itself."""
    for pattern in patterns:
        wanted = pattern.lower()
        if wanted.startswith("*.") and name.endswith(wanted[1:]):
            return True
        if name == wanted:
            return True
    return False
