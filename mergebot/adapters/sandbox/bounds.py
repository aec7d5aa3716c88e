"""What one step may use of its host, each bound with its reason."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

MIB = 1024 * 1024


def memory_of_host() -> int:
    """Return how much memory this host has, in bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one step may use.

    memory_bytes
        Resident memory of the whole tree, looked at every second; RLIMIT_AS would break every
        runtime that reserves address space. Shared pages count once for each process. Three
        quarters of the host by default, so that the step dies before the worker does.
    scratch_bytes
        /tmp and /dev/shm, each; they live in memory.
    disk_bytes
        The workspace, looked at every ten seconds.
    file_bytes
        One file (RLIMIT_FSIZE).
    processes
        Processes and threads (RLIMIT_NPROC): a JVM or a wide `make -j` needs hundreds. The kernel
        does not hold root to it; there, processes are counted every second and the step is killed.
    open_files
        Descriptors of one process (RLIMIT_NOFILE).
    """

    memory_bytes: int = memory_of_host() * 3 // 4
    scratch_bytes: int = memory_of_host() // 4
    disk_bytes: int = 20 * 1024 * MIB
    file_bytes: int = 8 * 1024 * MIB
    processes: int = 4096
    open_files: int = 16384

    def rlimits(self, others: int) -> Mapping[str, int]:
        """Return the limits of each process by the kernel's name for them.

        `others` counts the threads that the step's user has already: the kernel counts them together.
        """
        return {
            "RLIMIT_CORE": 0,
            "RLIMIT_FSIZE": self.file_bytes,
            "RLIMIT_NOFILE": self.open_files,
            "RLIMIT_NPROC": self.processes + others,
        }
