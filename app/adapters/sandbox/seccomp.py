"""The system calls that nothing in a sandbox needs, as a filter that the kernel runs (classic BPF).

Namespaces hide things; this makes the kernel smaller for who looks for a fault in it. And it is the
only wall before sockets that belong to no network namespace, such as those to the hypervisor.
"""

import struct
from collections.abc import Mapping
from errno import EAFNOSUPPORT, ENOSYS, EPERM
from typing import Final, NamedTuple


class Machine(NamedTuple):
    """How one architecture calls its system calls."""

    audit: int
    """Its name in the kernel's `seccomp_data.arch`."""
    socket: int
    clone: int
    numbers: Mapping[str, int]


CLONE3: Final = 435
"""Numbered alike everywhere. A filter cannot look at what its pointer leads to, so nobody has it:
C libraries then ask `clone` instead."""
NAMESPACES: Final = 0x7E02_0000
"""The flags of `clone` that make one of any kind, linux/sched.h."""
FAMILIES: Final = (1, 2, 10, 16)
"""Sockets that may be made: unix, inet, inet6, and netlink, by which libraries list interfaces."""
_NEW: Final = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "mount_setattr": 442,
}  # fmt: skip
"""Numbered alike everywhere."""
MACHINES: Final[Mapping[str, Machine]] = {
    "x86_64": Machine(
        0xC000003E,
        41,
        56,
        {
            **_NEW, "pivot_root": 155, "chroot": 161, "acct": 163, "settimeofday": 164,
            "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169,
            "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176, "quotactl": 179,
            "clock_settime": 227, "kexec_load": 246, "add_key": 248, "request_key": 249,
            "keyctl": 250, "unshare": 272, "perf_event_open": 298, "fanotify_init": 300,
            "name_to_handle_at": 303, "open_by_handle_at": 304, "setns": 308, "finit_module": 313,
            "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323, "syslog": 103, "vhangup": 153,
        },
    ),
    "aarch64": Machine(
        0xC00000B7,
        198,
        220,
        {
            **_NEW, "umount2": 39, "mount": 40, "pivot_root": 41, "chroot": 51, "vhangup": 58,
            "quotactl": 60, "acct": 89, "unshare": 97, "kexec_load": 104, "init_module": 105,
            "delete_module": 106, "clock_settime": 112, "syslog": 116, "reboot": 142,
            "settimeofday": 170, "add_key": 217, "request_key": 218, "keyctl": 219, "swapon": 224,
            "swapoff": 225, "perf_event_open": 241, "fanotify_init": 262, "name_to_handle_at": 264,
            "open_by_handle_at": 265, "setns": 268, "finit_module": 273, "bpf": 280,
            "userfaultfd": 282, "kexec_file_load": 294,
        },
    ),
}  # fmt: skip
"""asm/unistd_64.h and asm-generic/unistd.h of the kernel's headers, version 6.1."""

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
_ALLOW: Final = 0x7FFF0000
_ERROR: Final = 0x00050000
_FIRST_OF_OTHERS: Final = 0x40000000
"""From here on x86's numbers belong to another set of the same calls."""
OTHER_MACHINE: Final = "calls by the numbers of another architecture"
OTHER_INTERFACE: Final = "calls by the numbers of another interface"
OTHER_SOCKETS: Final = "sockets of other families"
CLONED_NAMESPACES: Final = "namespaces by clone"


def seccomp_filter(machine: str) -> bytes | None:
    """The program for an architecture (`platform.machine()`), for `bwrap --seccomp`; None: nobody
    has listed its numbers."""
    known = MACHINES.get(machine)
    return None if known is None else program_of(rules(known))


def rules(known: Machine) -> dict[str, bytes]:
    """What the filter refuses, by name: a call's, or what is said below. Each is whole without the
    others, and leaves the number of the call where it found it."""
    is_socket = len(FAMILIES) + 3
    said = {
        OTHER_MACHINE: [
            _step(_LOAD, _ARCHITECTURE_AT),
            _step(_JUMP_EQUAL, known.audit, yes=1),
            _step(_RETURN, _ERROR | ENOSYS),
            _step(_LOAD, _NUMBER_AT),
        ],
        OTHER_INTERFACE: [
            _step(_JUMP_AT_LEAST, _FIRST_OF_OTHERS, no=1),
            _step(_RETURN, _ERROR | ENOSYS),
        ],
        OTHER_SOCKETS: [
            _step(_JUMP_EQUAL, known.socket, no=is_socket),
            _step(_LOAD, _FIRST_ARGUMENT_AT),
            *(
                _step(_JUMP_EQUAL, family, yes=len(FAMILIES) - place)
                for place, family in enumerate(FAMILIES)
            ),
            _step(_RETURN, _ERROR | EAFNOSUPPORT),
            _step(_RETURN, _ALLOW),
        ],
        CLONED_NAMESPACES: [
            _step(_JUMP_EQUAL, known.clone, no=4),
            _step(_LOAD, _FIRST_ARGUMENT_AT),
            _step(_JUMP_ANY_BIT, NAMESPACES, no=1),
            _step(_RETURN, _ERROR | EPERM),
            _step(_RETURN, _ALLOW),
        ],
        "clone3": [_step(_JUMP_EQUAL, CLONE3, no=1), _step(_RETURN, _ERROR | ENOSYS)],
        **{
            name: [_step(_JUMP_EQUAL, number, no=1), _step(_RETURN, _ERROR | EPERM)]
            for name, number in known.numbers.items()
        },
    }
    return {name: b"".join(steps) for name, steps in said.items()}


def program_of(rules: Mapping[str, bytes]) -> bytes:
    """The program that refuses what these rules name."""
    return b"".join([_step(_LOAD, _NUMBER_AT), *rules.values(), _step(_RETURN, _ALLOW)])


def _step(code: int, operand: int, *, yes: int = 0, no: int = 0) -> bytes:
    """One instruction; `yes` and `no`: how many are passed over then."""
    return struct.pack("=HBBI", code, yes, no, operand)
