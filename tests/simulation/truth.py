"""What is true of a tree, whoever asks: what a step or check without flakes finds in it."""

from mergebot.adapters.memory.objects import Tree
from mergebot.domain.gate import StepResult
from mergebot.domain.reasons import Reason

PASSED_LOG, FAILED_LOG = "e" * 64, "f" * 64
SECONDS = 12.5
EVERYTHING = "make all"

_LOOKS = {
    "make all": ("bad", "clash", "slow"),
    "make lint": ("bad",),
    "make test": ("clash", "slow"),
    "make build": (),
}
"""What each command looks for."""


def fault(tree: Tree, command: str = EVERYTHING) -> tuple[Reason, str] | None:
    """Return what a command finds: a `bad` file fails, `left` and `right` clash, `slow` never ends."""
    looks = _LOOKS[command]
    if "bad" in looks and any(path.startswith("bad") for path in tree):
        return Reason.GATE_FAILED, "E bad is here"
    if "clash" in looks and "left" in tree and "right" in tree:
        return Reason.GATE_FAILED, "E left and right clash"
    if "slow" in looks and any(path.startswith("slow") for path in tree):
        return Reason.GATE_TIMEOUT, "still running"
    return None


def green(tree: Tree) -> bool:
    """Tell whether a tree deserves to be on the trunk."""
    return fault(tree) is None


def passed(name: str, command: str, *, tries: int = 1) -> StepResult:
    """Return the result of a step that passed."""
    return StepResult(name, command, 0, SECONDS, PASSED_LOG, tries)


def red(name: str, command: str) -> StepResult:
    """Return the result of a step that did not."""
    return StepResult(name, command, 1, SECONDS, FAILED_LOG)
