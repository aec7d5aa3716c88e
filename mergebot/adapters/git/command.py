"""The one place that runs git: fixed options, an empty environment, and nothing from the host.

Hostile input reaches git as commit ids, as integers in ref names, or on standard input; the only
names that people chose and that become arguments are checked by `refs.branch_ref` first.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from mergebot.adapters.git.process import LOCAL, Answer, Job, Limits, perform
from mergebot.ports.errors import Refused, Unavailable

OPTIONS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.autocrlf=false",
    "core.quotePath=false",
    "core.attributesFile=/dev/null",
    "core.logAllRefUpdates=false",
    "protocol.allow=never",
    "gc.auto=0",
    "maintenance.auto=false",
    "commit.gpgSign=false",
    "push.gpgSign=false",
    "merge.renames=true",
    # Pinned, so that two versions of git cannot disagree about what is a rename.
    "merge.renameLimit=7000",
    "merge.directoryRenames=conflict",
    "rerere.enabled=false",
    "submodule.recurse=false",
    "advice.fetchShowForcedUpdates=false",
    "credential.helper=",
    "transfer.fsckObjects=true",
    # Old flaws that many public histories carry and that harm nobody.
    "fetch.fsck.zeroPaddedFilemode=warn",
    "fetch.fsck.badTimezone=warn",
    "fetch.fsck.missingSpaceBeforeDate=warn",
)

# What a host may need to say about its way to the forge; everything else is dropped.
TRANSPORT_VARIABLES = (
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "no_proxy",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
)


def environment() -> dict[str, str]:
    """Return all that git may see of this process's environment."""
    passed = {name: os.environ[name] for name in TRANSPORT_VARIABLES if name in os.environ}
    return passed | {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "/bin/false",
    }


def argv(git_dir: Path, options: tuple[str, ...], arguments: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command line of one git call."""
    settings = (word for option in (*OPTIONS, *options) for word in ("-c", option))
    return ("git", f"--git-dir={git_dir}", *settings, *arguments)


@dataclass(frozen=True, slots=True)
class GitDir:
    """One git directory on this host, asked without any network."""

    path: Path

    def ask(self, *arguments: str, stdin: bytes = b"", limits: Limits = LOCAL) -> Answer:
        """Run git and return its answer, whatever its exit status."""
        line = argv(self.path, (), arguments)
        return perform(Job(line, environment(), stdin=stdin, limits=limits))

    def run(self, *arguments: str, stdin: bytes = b"", limits: Limits = LOCAL) -> Answer:
        """Run git and return its answer; raises Unavailable when it failed, Refused when cut."""
        answer = self.ask(*arguments, stdin=stdin, limits=limits)
        if answer.cut:
            raise Refused(f"git {arguments[0]} answers more than {limits.output_bytes} bytes")
        if answer.code:
            raise Unavailable(f"git {arguments[0]} failed here: {one_line(answer.err)}")
        return answer


def one_line(text: str) -> str:
    """Return the line of git's complaint that says most, in printable characters."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith("fatal:")]
    named = [line for line in lines if line.startswith(("error:", "remote: error:"))]
    best = (fatal or named or lines or ["git gave no reason"])[0]
    plain = best.removeprefix("remote: ").removeprefix("fatal: ").removeprefix("error: ")
    return "".join(c if c.isprintable() else " " for c in plain)[:300]
