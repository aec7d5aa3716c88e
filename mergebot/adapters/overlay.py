"""A directory laid over another one: what is written goes into the upper one, the lower one stays.

The kernel's overlay does it for root alone. The lower tree belongs to root; to whoever works in
the upper one it looks like his own, through an id-mapped mount, so nothing is copied or chowned.
"""

import ctypes
import os
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_OPEN_TREE_CLONE = 1
_MOVE_MOUNT_F_EMPTY_PATH = 4
_AT_FDCWD, _AT_EMPTY_PATH = -100, 0x1000
_MOUNT_ATTR_IDMAP = 0x00100000
_MOUNT_ATTR_RDONLY = 0x00000001
_MNT_DETACH, _UMOUNT_NOFOLLOW = 2, 8
_LOWER, _UPPER, _WORK = "lower", "upper", "work"
_UNSHARED_WITHIN_S = 2.0

_libc = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("user_namespace", ctypes.c_uint64),
    )


def lay(lower: Path, into: Path, uid: int) -> bool:
    """Lay the empty directory `into` over root's tree `lower`, all of it looking like `uid`'s.

    False, and `into` is empty as before, where this host does not allow it.
    """
    if os.geteuid() != 0 or any(mark in str(into) for mark in ':,"\\'):
        return False
    for name in (_LOWER, _UPPER, _WORK):
        (into / name).mkdir()
    os.chown(into / _UPPER, uid, uid)
    try:
        _map(lower, into / _LOWER, uid)
        layers = f"lowerdir={into / _LOWER},upperdir={into / _UPPER},workdir={into / _WORK}"
        options = f"{layers},redirect_dir=on,volatile"
        command = ["mount", "-t", "overlay", "overlay", "-o", options, str(into)]
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        lift(into)
        for name in (_LOWER, _UPPER):
            (into / name).rmdir()
        subprocess.run(["rm", "-rf", "--", str(into / _WORK)], check=False)
        return False
    return True


def lift(path: Path) -> None:
    """Unmount what `lay` mounted on `path`, whoever still uses it; harmless where nothing is."""
    for place in (path, path / _LOWER):
        # Asking first is no use: a mount within one file system cannot be told from a directory.
        _libc.umount2(os.fsencode(place), _MNT_DETACH | _UMOUNT_NOFOLLOW)


def _map(source: Path, place: Path, uid: int) -> None:
    """Mount `source` on `place`, root's files being `uid`'s; not even root can write through it."""
    tree = _called(_OPEN_TREE, _AT_FDCWD, os.fsencode(source), _OPEN_TREE_CLONE | os.O_CLOEXEC)
    try:
        namespace = _user_namespace(uid)
        try:
            attributes = _MOUNT_ATTR_IDMAP | _MOUNT_ATTR_RDONLY
            wanted = _Attributes(set=attributes, user_namespace=namespace)
            size = ctypes.sizeof(wanted)
            _called(_MOUNT_SETATTR, tree, b"", _AT_EMPTY_PATH, ctypes.byref(wanted), size)
        finally:
            os.close(namespace)
        _called(_MOVE_MOUNT, tree, b"", _AT_FDCWD, os.fsencode(place), _MOVE_MOUNT_F_EMPTY_PATH)
    finally:
        os.close(tree)


def _user_namespace(uid: int) -> int:
    """Return a descriptor of a user namespace in which root is `uid`."""
    holder = subprocess.Popen(["unshare", "--user", "cat"], stdin=subprocess.PIPE)
    try:
        process = Path(f"/proc/{holder.pid}")
        until = time.monotonic() + _UNSHARED_WITHIN_S
        while (process / "ns/user").readlink() == Path("/proc/self/ns/user").readlink():
            if time.monotonic() > until:
                raise TimeoutError("no user namespace could be made")
            threading.Event().wait(0.0005)
        (process / "uid_map").write_text(f"0 {uid} 1\n")
        (process / "gid_map").write_text(f"0 {uid} 1\n")
        return os.open(process / "ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        if holder.stdin:
            with suppress(OSError):
                holder.stdin.close()
        holder.wait()


def _called(number: int, *arguments: object) -> int:
    """Make a system call that the C library has no name for yet; raises OSError."""
    answer = int(_libc.syscall(ctypes.c_long(number), *arguments))
    if answer < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return answer
