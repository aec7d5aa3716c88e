"""A filter of system calls, for what namespaces alone do not close.

It refuses calls that reach kernel state shared with the host (keyrings, BPF, performance events,
modules, the kernel log) or that make new namespaces and mounts, whose code has often been the way
out. Everything else is allowed, tracing and debugging within the sandbox among it. An architecture
that is not listed here gets no filter; so does a call in another architecture's numbering get
"no such call".
"""

import errno
import platform
import struct
from dataclasses import dataclass

_RETURN_ALLOW = 0x7FFF0000
_RETURN_ERRNO = 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_AT_NUMBER, _AT_ARCHITECTURE, _AT_FIRST_ARGUMENT = 0, 4, 16
_CLONE3 = 435
_NEW_NAMESPACES = 0x7E020000
_X32 = 0x40000000

# The same numbers everywhere: io_uring_*, open_tree, move_mount, fs*, mount_setattr.
_EVERYWHERE = (425, 426, 427, 428, 429, 430, 431, 432, 433, 442)


@dataclass(frozen=True, slots=True)
class _Machine:
    architecture: int
    clone: int
    refused: tuple[int, ...]


_X86_64 = _Machine(
    architecture=0xC000003E,
    clone=56,
    refused=(
        *(248, 249, 250),  # add_key, request_key, keyctl
        *(321, 298, 323),  # bpf, perf_event_open, userfaultfd
        *(165, 166, 155, 272, 308),  # mount, umount2, pivot_root, unshare, setns
        *(246, 320, 175, 313, 176),  # kexec_load, kexec_file_load, *init_module, delete_module
        *(169, 167, 168, 163, 103),  # reboot, swapon, swapoff, acct, syslog
        *(179, 304, 212),  # quotactl, open_by_handle_at, lookup_dcookie
    ),
)
_AARCH64 = _Machine(
    architecture=0xC00000B7,
    clone=220,
    refused=(
        *(217, 218, 219),
        *(280, 241, 282),
        *(40, 39, 41, 97, 268),
        *(104, 294, 105, 273, 106),
        *(142, 224, 225, 89, 116),
        *(60, 265, 18),
    ),
)
_MACHINES = {"x86_64": _X86_64, "aarch64": _AARCH64}


def _instruction(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _refuse_if(code: int, value: int, number: int) -> bytes:
    answer = _instruction(_RETURN, _RETURN_ERRNO | number)
    return _instruction(code, value, no=1) + answer


def program(machine: str = platform.machine()) -> bytes:
    """Return the filter for `machine` as the kernel reads it, or nothing where there is none."""
    known = _MACHINES.get(machine)
    if known is None:
        return b""
    return b"".join(
        (
            _instruction(_LOAD, _AT_ARCHITECTURE),
            _instruction(_EQUAL, known.architecture, yes=1),
            _instruction(_RETURN, _RETURN_ERRNO | errno.ENOSYS),
            _instruction(_LOAD, _AT_NUMBER),
            _refuse_if(_AT_LEAST, _X32, errno.ENOSYS),
            *(_refuse_if(_EQUAL, each, errno.EPERM) for each in known.refused + _EVERYWHERE),
            # clone3 hides its flags behind a pointer; without it, libraries fall back to clone.
            _refuse_if(_EQUAL, _CLONE3, errno.ENOSYS),
            _instruction(_EQUAL, known.clone, no=3),
            _instruction(_LOAD, _AT_FIRST_ARGUMENT),
            _refuse_if(_ANY_BIT, _NEW_NAMESPACES, errno.EPERM),
            _instruction(_RETURN, _RETURN_ALLOW),
        )
    )
