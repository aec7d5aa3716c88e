"""Where gates run: the sandbox that the settings name."""

from mergebot.adapters.sandbox.bubblewrap import Bubblewrap
from mergebot.adapters.sandbox.plain import Plain
from mergebot.ports.sandbox import Sandbox


def sandbox(name: str) -> Sandbox:
    """Return the sandbox of this name: `bubblewrap`, or `none` for the one without isolation."""
    return Bubblewrap() if name == "bubblewrap" else Plain()


def trouble_with(name: str) -> str:
    """Return "" when the sandbox of this name works here, else one sentence on what to do."""
    return sandbox(name).check()
