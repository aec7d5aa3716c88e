"""A container engine by its own command: what is asked of it beside running a step.

podman and docker take the same commands here. Where they differ is the identity of a step and
what podman would bring in by itself; `containers` says both.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mergebot.adapters.sandbox.rootfs import SYSTEM_PATH
from mergebot.ports.sandbox import SandboxFailed

ANSWERS_S = 60.0
WORKSPACE_LABEL = "mergebot.workspace"

# What a client needs to find its daemon, its store and its runtime; no credential is among it.
PASSED_ON = (
    *("HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TMPDIR"),
    *("DBUS_SESSION_BUS_ADDRESS", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "DOCKER_HOST"),
)
NOWHERE = "/nonexistent"


@dataclass(frozen=True, slots=True)
class Image:
    """An image that is on this host: its identity, and the places that it wants to write to."""

    id: str
    volumes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class State:
    """What became of a container; `started` is False where its program never ran."""

    started: bool
    code: int
    out_of_memory: bool


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine `name`, whose client is at `program`."""

    name: str
    program: str
    environment: tuple[tuple[str, str], ...]

    def answers(self) -> str:
        """Return "" when the engine is there, else what it says."""
        code, out, said = self._asked("info", "--format", "{{json .}}")
        if code:
            return last_line(said)
        # docker's client gives an answer of its own when its daemon gives none.
        found = json.loads(out)
        wrong = found.get("ServerErrors") or [] if isinstance(found, dict) else []
        return last_line(str(wrong[0])) if wrong else ""

    @cache  # noqa: B019  there is one engine of a name, as long as the process lives
    def controllers(self) -> frozenset[str]:
        """Return which cgroup controllers podman may use here; docker's daemon has them all."""
        if self.name == "docker":
            return frozenset({"memory", "pids"})
        code, out, said = self._asked("info", "--format", "{{json .Host.CgroupControllers}}")
        if code:
            raise SandboxFailed(f"podman does not answer on this host ({last_line(said)}).")
        return frozenset(json.loads(out) or [])

    def image(self, name: str) -> Image:
        """Return the image of this name; raises SandboxFailed where it is not on this host."""
        code, out, said = self._asked("image", "inspect", name)
        if code:
            if trouble := self.answers():
                raise SandboxFailed(f"{self.name} does not answer on this host ({trouble}).")
            raise SandboxFailed(
                f"the image {name} is not on this host, and a gate never fetches one"
                f" ({last_line(said)}): run `{self.name} pull {name}` on every worker."
            )
        found = json.loads(out)[0]
        config = found.get("Config") or {}
        whole = "sha256:" + str(found["Id"]).removeprefix("sha256:")
        if name.startswith("sha256:") and name != whole:
            raise SandboxFailed(f"{self.name} takes the image {name} for another one, {whole}.")
        return Image(whole, tuple(sorted(config.get("Volumes") or ())))

    def state(self, container: str) -> State | None:
        """Return what became of a container, None where there is none of this name."""
        code, out, _ = self._asked("container", "inspect", container)
        if code:
            return None
        found = json.loads(out)[0]["State"]
        over = str(found["Status"]).lower() in {"exited", "stopped"}
        return State(over, int(found["ExitCode"]), bool(found["OOMKilled"]))

    def removal(self, container: str) -> tuple[str, ...]:
        """Return the command that kills a container and removes it with all that it made."""
        return self.program, "rm", "--force", "--volumes", container

    def remove(self, container: str) -> None:
        """Kill and remove a container; one that is gone is no error."""
        self._asked(*self.removal(container)[1:])

    def workspaces(self) -> dict[str, str]:
        """Return the workspace of every container that a mergebot made, by the container's id."""
        _, out, _ = self._asked(
            "ps", "--all", "--quiet", "--no-trunc", "--filter", f"label={WORKSPACE_LABEL}"
        )
        found = {}
        for container in out.split():
            code, shown, _ = self._asked("container", "inspect", container)
            if not code:
                found[container] = json.loads(shown)[0]["Config"]["Labels"][WORKSPACE_LABEL]
        return found

    def _asked(self, *words: str) -> tuple[int, str, str]:
        try:
            done = subprocess.run(
                [self.program, *words],
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                check=False,
                timeout=ANSWERS_S,
            )
        except subprocess.TimeoutExpired as error:
            raise SandboxFailed(f"{self.name} did not answer within {ANSWERS_S:.0f} s.") from error
        return done.returncode, done.stdout, done.stderr


def engine(name: str, search: str) -> Engine:
    """Return the engine called `name`; raises SandboxFailed where its command is not on `search`."""
    path = f"{search}:{SYSTEM_PATH}"
    program = shutil.which(name, path=path)
    if not program:
        raise SandboxFailed(
            f"{name} is not installed on this host: install it, or choose another MERGEBOT_SANDBOX."
        )
    environment = {each: os.environ[each] for each in PASSED_ON if each in os.environ}
    own = {"PATH": path, "LANG": "C.UTF-8"}
    if name == "docker":
        # Its client's configuration may name proxies, with passwords, for every container.
        own["DOCKER_CONFIG"] = NOWHERE
    return Engine(name, str(Path(program).absolute()), tuple({**environment, **own}.items()))


def last_line(text: str) -> str:
    """Return the last line that says something, short enough for a sentence."""
    lines: Sequence[str] = [
        each.strip()
        for each in text.splitlines()
        if each.strip() and not each.startswith(("Run '", "See '"))  # docker's hint at its help
    ]
    return lines[-1][:300].rstrip(".") if lines else "it says nothing"
