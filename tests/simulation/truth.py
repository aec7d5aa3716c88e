"""What is true of a tree, whoever asks: the verdict that a gate without flakes gives."""

from mergebot.adapters.memory.objects import Tree
from mergebot.domain.gate import Failed, GateResult, Passed, StepResult
from mergebot.domain.reasons import Reason

COMMAND = "make test"
PASSED = Passed((StepResult("test", COMMAND, 0, 12.5, "e" * 64),))


def verdict(tree: Tree) -> GateResult:
    """Return the verdict: a `bad` file fails, a `slow` one never ends, `left` and `right` clash."""
    if any(path.startswith("bad") for path in tree):
        return failed(Reason.GATE_FAILED, "E bad is here")
    if "left" in tree and "right" in tree:
        return failed(Reason.GATE_FAILED, "E left and right clash")
    if any(path.startswith("slow") for path in tree):
        return failed(Reason.GATE_TIMEOUT, "still running")
    return PASSED


def green(tree: Tree) -> bool:
    """Tell whether a tree deserves to be on the trunk."""
    return isinstance(verdict(tree), Passed)


def failed(reason: Reason, error: str) -> Failed:
    """Return a failure of the one step."""
    step = StepResult("test", COMMAND, 1, 12.5, "f" * 64)
    return Failed(reason, (step,), error, error)
