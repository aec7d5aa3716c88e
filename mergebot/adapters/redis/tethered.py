"""Becomes another program that the kernel ends when its parent ends.

Run as a file by `embedded.py`, with the parent's process id, the program and its arguments. The
wish is made here, after the fork, because a process with threads may not run Python between fork
and exec. It holds for the thread that started this, so that should be one that lives on.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main(parent: int, program: str, arguments: list[str]) -> None:
    """Replace this process by `program`; on systems other than Linux without the tether."""
    # Its starter may read signals instead of handling them; this program must hear them.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            sys.exit(1)
    os.execv(program, [program, *arguments])  # noqa: S606  an argument list, and no shell


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
