"""Which cores this process may use, and what tells them from those of other hosts."""

import hashlib
import os
import socket
from contextlib import suppress
from math import inf
from pathlib import Path

from mergebot.domain.capacity import Cores

CGROUPS = Path("/sys/fs/cgroup")
BOOT = Path("/proc/sys/kernel/random/boot_id")
OWN = Path("/proc/self/cgroup")


def usable_cores() -> Cores:
    """Return the cores that this process and its children may use.

    Processes on one kernel share them where they may run on the same ones, or have one quota.
    """
    allowed = _allowed_cores()
    quota, group = _quota()
    identity = [_read(BOOT) or socket.gethostname(), group if quota < len(allowed) else allowed]
    key = hashlib.sha256(repr(identity).encode()).hexdigest()[:16]
    host = "".join(socket.gethostname().split()) or "host"
    return Cores(key, host, min(float(len(allowed)), quota))


def _allowed_cores() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))  # not on Linux, where only the doctor runs


def _quota() -> tuple[float, str]:
    """Return the cores' worth of time that the control groups above allow, and the tightest one."""
    tightest = inf, ""
    for line in _read(OWN).splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0":
            top, read = CGROUPS, _allowed
        elif "cpu" in controllers.split(","):
            top, read = CGROUPS / "cpu", _allowed_before
        else:
            continue
        place = top / path.lstrip("/")
        for each in (place, *place.parents):
            if not each.is_relative_to(top):
                break
            tightest = min(tightest, (read(each), _identity(each)))
    return tightest


def _allowed(group: Path) -> float:
    quota, _, period = _read(group / "cpu.max").partition(" ")
    return _share(quota, period)


def _allowed_before(group: Path) -> float:
    """Read what version 1 of control groups has."""
    return _share(_read(group / "cpu.cfs_quota_us"), _read(group / "cpu.cfs_period_us"))


def _share(quota: str, period: str) -> float:
    with suppress(ValueError):
        if int(quota) > 0 and int(period) > 0:
            return int(quota) / int(period)
    return inf


def _identity(group: Path) -> str:
    with suppress(OSError):
        found = group.stat()
        return f"{found.st_dev}:{found.st_ino}"
    return ""


def _read(path: Path) -> str:
    with suppress(OSError):
        return path.read_text().strip()
    return ""
