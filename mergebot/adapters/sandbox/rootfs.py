"""What a step sees of its host: programs, read-only, and nothing that is anyone's own."""

import sys
from dataclasses import dataclass
from pathlib import Path

HOST = "gate"
USER_ID = 1000
HOME = "/tmp/home"  # noqa: S108  a private /tmp, new for each step
WORKSPACE = "/workspace"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MERGED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
ADD_ONS = Path("/opt")

# Settings that programs read, by pattern; none of them may hold a credential.
ETC = (
    *("alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "pki/tls"),
    *("pki/ca-trust", "ssl/certs", "ssl/openssl.cnf", "ld.so.cache", "ld.so.conf", "ld.so.conf.d"),
    *("localtime", "timezone", "mime.types", "magic", "services", "protocols", "nsswitch.conf"),
    *("os-release", "debian_version", "fonts", "perl", "python3*", "java-*", "terminfo", "xml"),
)

FILES = {
    "/etc/passwd": f"root:x:0:0:root:/root:/bin/sh\n"
    f"gate:x:{USER_ID}:{USER_ID}:gate:{HOME}:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "/etc/group": f"root:x:0:\ngate:x:{USER_ID}:\nnogroup:x:65534:\n",
    "/etc/hosts": f"127.0.0.1 localhost {HOST}\n::1 localhost\n",
}


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A directory of programs outside /usr, and the part of it that belongs on PATH."""

    top: Path
    programs: Path


def toolchains(search: str) -> tuple[Toolchain, ...]:
    """Return the toolchains that steps get besides /usr.

    They are the interpreter that mergebot itself rests on (its installation, not its own
    environment) and what stands below /opt in `search`, a PATH. Home directories are left out,
    whatever `search` names.
    """
    base = Path(sys.base_prefix).resolve()
    found = [] if base.is_relative_to("/usr") else [Toolchain(base, base / "bin")]
    own = Path(sys.prefix).resolve()
    for entry in search.split(":"):
        programs = Path(entry).resolve()
        top = programs.parent if programs.name in {"bin", "sbin"} else programs
        below = entry.startswith("/") and top.is_relative_to(ADD_ONS) and top != ADD_ONS
        if below and programs.is_dir() and top != own:
            found.append(Toolchain(top, programs))
    return tuple(dict.fromkeys(found))


def path_of(tools: tuple[Toolchain, ...]) -> str:
    """Return the PATH inside."""
    return ":".join([*(str(tool.programs) for tool in tools), SYSTEM_PATH])


def system() -> list[str]:
    """Return the mounts of the system's programs and settings, as bubblewrap's options."""
    options = ["--ro-bind", "/usr", "/usr"]
    for name in MERGED:
        place = Path("/", name)
        if place.is_symlink():
            options += ["--symlink", str(place.readlink()), str(place)]
        elif place.is_dir():
            options += ["--ro-bind", str(place), str(place)]
    for pattern in ETC:
        for found in sorted(Path("/etc").glob(pattern)):
            options += ["--ro-bind-try", str(found), str(found)]
    return options


def files(network: bool) -> dict[str, str]:  # noqa: FBT001  the step's own setting
    """Return the text of the settings that are written for each step, by their place."""
    if not network:
        return FILES
    resolver = Path("/etc/resolv.conf")
    return FILES | {str(resolver): resolver.read_text() if resolver.exists() else ""}


def private(scratch_bytes: int) -> list[str]:
    """Return the mounts that are new for each step: /proc, /dev, /tmp and a home."""
    size = ["--size", str(scratch_bytes)]
    return [
        *("--proc", "/proc", "--dev", "/dev"),
        *(*size, "--tmpfs", "/dev/shm"),  # noqa: S108  the sandbox's own
        *("--remount-ro", "/dev"),
        *("--perms", "1777", *size, "--tmpfs", "/tmp"),  # noqa: S108  as above
        *("--dir", HOME, "--dir", "/run", "--symlink", "/tmp", "/var/tmp"),  # noqa: S108  as above
    ]
