"""The small process between a worker and a step: it starts the step, bounds it, and ends it.

It is run as a script of its own, needs the standard library alone, and lives exactly as long as
its step. The worker writes one line of JSON to its standard input and keeps that pipe open: the
pipe's end, whether the worker closed it or was killed, is the order to kill. Orphans of the step,
daemons that called setsid among them, become children of this process, which ends only once none
is left. Standard output is the step's; standard error takes one line of JSON, the report:
{"status": raw wait status}, {"over": "which limit was broken"} or {"killed": true}. With it goes
what the step used in "wall_s": "cpu_s" of all its processes, the time "ready_s" for which its threads
ran or waited for a core, added up, and for how long any of them did ("busy_s") and none ("still_s").
"""

import ctypes
import json
import os
import resource
import select
import signal
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

CONTROL, OUTPUT, REPORT = 0, 1, 2
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNS = 0x20000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
FIRST_LOOK_S = 0.05
LOOK_S = 1.0
LIMITS_LOOK_S = 1.0
THREADS_LOOKED_AT = 256
DISK_LOOK_S = 10.0
DISK_LOOK_MAX_S = 1.0
AFTER_S = 8.0
MIB = 1024 * 1024

Order = dict[str, Any]


def read_order() -> Order:
    """Return the worker's order; ends the process when the worker died before it gave one."""
    text = b""
    while not text.endswith(b"\n"):
        data = os.read(CONTROL, 65536)
        if not data:
            sys.exit(0)
        text += data
    order: Order = json.loads(text)
    return order


def become(order: Order) -> None:
    """Turn this forked child into the step; never returns."""
    os.setsid()
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123  pathlib takes longer to import than a step to start
        file.write("1000")
    for name, most in order["rlimits"].items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)  # noqa: PLW2901  a limit can only be lowered
        resource.setrlimit(kind, (most, most))
    if order["uid"] is not None:
        show(order["stage"])
        os.setgroups([])
        os.setgid(order["uid"])
        os.setuid(order["uid"])
    os.umask(0o022)
    os.chdir(order["cwd"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), CONTROL)
    os.dup2(OUTPUT, REPORT)
    os.execve(order["argv"][0], order["argv"], order["environment"])  # noqa: S606  there is no shell here to avoid


def show(stage: list[str]) -> None:
    """Make directories reachable for an unprivileged user, as /tmp/0, /tmp/1 and so on.

    They may lie where only root may go. This process alone sees them there, and nothing else in
    /tmp: it gets a mount namespace of its own.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    checked(libc.unshare(CLONE_NEWNS), "unshare")
    checked(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "mount /")
    fds = [os.open(path, os.O_PATH | os.O_DIRECTORY) for path in stage]
    checked(libc.mount(b"tmpfs", b"/tmp", b"tmpfs", MS_NOSUID | MS_NODEV, b"mode=755"), "tmpfs")
    for number, fd in enumerate(fds):
        place = f"/tmp/{number}"  # noqa: S108  nobody else sees this /tmp
        os.mkdir(place)  # noqa: PTH102  as above
        source = f"/proc/self/fd/{fd}".encode()
        checked(libc.mount(source, place.encode(), None, MS_BIND | MS_REC, None), place)


def checked(answer: int, what: str) -> None:
    """Raise OSError when a call of the C library failed."""
    if answer:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def start(order: Order) -> int:
    """Fork the step and return its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        become(order)
    except OSError as error:
        os.write(OUTPUT, f"{order['argv'][0]}: {error}\n".encode())
    finally:
        os._exit(127)


Seen = tuple[bytes, int, int]


def processes() -> Iterator[tuple[int, int, Seen]]:
    """Give the id and the parent's id of every process, its state, threads and resident pages."""
    for name in os.listdir("/proc"):  # noqa: PTH208  as above
        if not name.isdigit():
            continue
        with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123  as above
            fields = file.read().rpartition(b")")[2].split()
            yield int(name), int(fields[1]), (fields[0], int(fields[17]), int(fields[21]))


def descendants() -> dict[int, Seen]:
    """Return every process below this one, parents before their children.

    Of each its state, how many threads it has, and its resident pages.
    """
    children: dict[int, list[tuple[int, Seen]]] = {}
    for pid, parent, seen in processes():
        children.setdefault(parent, []).append((pid, seen))
    found: dict[int, Seen] = {}
    ahead = list(children.get(os.getpid(), []))
    while ahead:
        pid, seen = ahead.pop(0)
        found[pid] = seen
        ahead.extend(children.get(pid, []))
    return found


def ready(found: dict[int, Seen]) -> int:
    """Return how many threads of these processes run, or wait for nothing but a core."""
    count, looks = 0, THREADS_LOOKED_AT
    for pid, (state, threads, _) in found.items():
        if threads == 1 or looks < threads:
            count += state == b"R"
            continue
        looks -= threads
        with suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208  as above
                with suppress(OSError), open(f"/proc/{pid}/task/{task}/stat", "rb") as file:  # noqa: PTH123  as above
                    count += file.read().rpartition(b")")[2].split()[0] == b"R"
    return count


def reap(ended: dict[int, int]) -> bool:
    """Collect into `ended` what has ended, by process id; return False once no child is left."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if not pid:
            return True
        ended[pid] = status


def end_all() -> None:
    """Kill everything below this process, and return once nothing is left.

    They are stopped first: a process that forks faster than it is found cannot escape then.
    """
    with suppress(OSError):
        # A fork bomb takes every turn that it can get; root may go before it.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    while reap({}):
        stopped: set[int] = set()
        while fresh := [pid for pid in descendants() if pid not in stopped]:
            for pid in fresh:
                send(pid, signal.SIGSTOP)
            stopped.update(fresh)
        for pid in stopped:
            send(pid, signal.SIGKILL)
        select.select([], [], [], 0.005)


def leave(grace_s: float) -> None:
    """Give what helped to run the step this long to clean up behind it and end by itself."""
    until = time.monotonic() + grace_s
    while time.monotonic() < until and reap({}):
        if select.select([CONTROL], [], [], 0.005)[0]:
            return


def run_after(order: Order) -> None:
    """Run the order's last command to its end, or to its time, and leave nothing of it behind."""
    command = order["after"]
    if not command:
        return
    pid = os.fork()
    if not pid:
        try:
            os.dup2(OUTPUT, REPORT)
            os.execve(command[0], command, order["environment"])  # noqa: S606  there is no shell here to avoid
        finally:
            os._exit(127)
    until = time.monotonic() + AFTER_S
    done: dict[int, int] = {}
    while pid not in done and time.monotonic() < until:
        reap(done)
        select.select([], [], [], 0.005)
    end_all()


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that may have ended meanwhile."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def disk_used(top: str) -> int:
    """Return the bytes that the tree at `top` takes, as far as they can be counted in a second."""
    until = time.monotonic() + DISK_LOOK_MAX_S
    total, ahead = 0, [top]
    while ahead and time.monotonic() < until:
        with suppress(OSError), os.scandir(ahead.pop()) as entries:
            for entry in entries:
                found = entry.stat(follow_symlinks=False)
                total += found.st_blocks * 512
                if stat.S_ISDIR(found.st_mode):
                    ahead.append(entry.path)
    return total


class Watch:
    """Looks at what the step uses, as seldom as is useful."""

    def __init__(self, order: Order) -> None:
        self.memory, self.disk = order["memory_bytes"], order["disk_bytes"]
        self.processes = order["processes"]
        self.workspace = order["workspace"]
        self.page = os.sysconf("SC_PAGE_SIZE")
        self.disk_at = time.monotonic() + DISK_LOOK_S
        self.looked_at = self.begun_at = time.monotonic()
        self.limits_at = self.looked_at + LIMITS_LOOK_S
        self.ready_s = self.busy_s = self.still_s = 0.0

    def broken(self) -> str:
        """Return which limit the step broke, or an empty text."""
        found = descendants()
        self.note(ready(found))
        if time.monotonic() < self.limits_at:
            return ""
        self.limits_at = time.monotonic() + LIMITS_LOOK_S
        if len(found) > self.processes:
            return f"the step ran more than {self.processes} processes"
        if sum(pages for _, _, pages in found.values()) * self.page > self.memory:
            return f"the step used more than {self.memory // MIB} MiB of memory"
        if time.monotonic() < self.disk_at:
            return ""
        used = disk_used(self.workspace)
        self.disk_at = time.monotonic() + DISK_LOOK_S
        if used > self.disk:
            return f"the step left more than {self.disk // MIB} MiB in its workspace"
        return ""

    def note(self, threads: int) -> None:
        """Take what is seen now for what went on since the last look."""
        now = time.monotonic()
        passed, self.looked_at = now - self.looked_at, now
        self.ready_s += threads * passed
        if threads:
            self.busy_s += passed
        else:
            self.still_s += passed

    def used(self) -> dict[str, float]:
        """Return what the step used, once nothing of it is left."""
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "cpu_s": spent.ru_utime + spent.ru_stime,
            "wall_s": time.monotonic() - self.begun_at,
            "ready_s": self.ready_s,
            "busy_s": self.busy_s,
            "still_s": self.still_s,
        }


def supervise(step: int, watch: Watch) -> dict[str, object]:
    """Wait until the step ends, breaks a limit or is no longer wanted, and say which."""
    ended = os.pidfd_open(step)
    done: dict[int, int] = {}
    wait_s = FIRST_LOOK_S
    while True:
        heard = select.select([CONTROL, ended], [], [], wait_s)[0]
        reap(done)
        if step in done:
            return {"status": done[step]}
        if CONTROL in heard:
            return {"killed": True}
        if over := watch.broken():
            return {"over": over}
        wait_s = min(2 * wait_s, LOOK_S)


def main() -> None:
    """Run one step to its end and leave nothing behind."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    order = read_order()
    step = start(order)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    os.dup2(os.open(os.devnull, os.O_WRONLY), OUTPUT)
    watch = Watch(order)
    report = supervise(step, watch)
    if "status" in report:
        leave(order["grace_s"])
    end_all()
    if "status" not in report:
        run_after(order)
    os.write(REPORT, json.dumps(report | watch.used()).encode() + b"\n")


if __name__ == "__main__":
    main()
