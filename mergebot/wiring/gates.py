"""Where gates run: the sandbox that the settings name."""

from mergebot.adapters.sandbox.bubblewrap import Bubblewrap
from mergebot.adapters.sandbox.containers import Containers
from mergebot.adapters.sandbox.plain import Plain
from mergebot.ports.sandbox import Sandbox


def sandbox(name: str) -> Sandbox:
    """Return the sandbox of this name: `none` is the one without isolation."""
    match name:
        case "podman" | "docker":
            return Containers(name)
        case "none":
            return Plain()
        case _:
            return Bubblewrap()


def trouble_with(name: str) -> str:
    """Return "" when the sandbox of this name works here, else one sentence on what to do."""
    return sandbox(name).check()
