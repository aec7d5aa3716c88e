"""The gate: its steps, the results of running them, and the verdict that follows."""

import hashlib
import json
from dataclasses import asdict, dataclass
from enum import StrEnum

from mergebot.domain.ids import Sha
from mergebot.domain.reasons import Reason


@dataclass(frozen=True, slots=True)
class Step:
    """One command of the gate; `retry` counts re-runs on the same commit, times are in seconds."""

    name: str
    run: str
    timeout_s: float
    retry: int = 0
    inputs: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pin:
    """Who has to report a check: an App's slug, an App's number, or @ and an account's login."""

    check: str
    producer: str


@dataclass(frozen=True, slots=True)
class ExternalChecks:
    """Checks that the repository's own CI must report on the merged commit.

    Of a check with pins the report of each producer named there is needed, and no other counts.
    """

    checks: tuple[str, ...] = ()
    skippable: tuple[str, ...] = ()
    timeout_s: float = 2700.0
    pins: tuple[Pin, ...] = ()

    def producers(self, check: str) -> tuple[str, ...]:
        """Return who has to report a check, nobody where anybody may."""
        return tuple(each.producer for each in self.pins if each.check == check)


@dataclass(frozen=True, slots=True)
class GateSpec:
    """What must be green on a merged commit, and the surroundings that the steps get.

    `image` is the container image that they run in, "" for the programs of the host.
    """

    steps: tuple[Step, ...]
    timeout_s: float
    setup: str = ""
    environment: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    network: bool = False
    external: ExternalChecks = ExternalChecks()
    image: str = ""

    @property
    def empty(self) -> bool:
        """Tell whether nothing has to be green."""
        return not (self.steps or self.external.checks)

    @property
    def image_moves(self) -> bool:
        """Tell whether the image may be another one tomorrow: it is named by a tag alone."""
        return bool(self.image) and not self.image.startswith("sha256:") and "@" not in self.image

    @property
    def digest(self) -> str:
        """Return the identity of this gate: two gates with one digest ask the same questions."""
        document = asdict(self)
        if not self.external.checks:
            del document["external"]
        if not self.image:
            del document["image"]
        text = json.dumps(document, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class StepResult:
    """A step that ran to its end; `log` is the SHA-256 of the whole output, `tries` counts runs.

    `kept` is the run that it passed in where this one did not run it again, else "".
    """

    name: str
    command: str
    exit_code: int
    seconds: float
    log: str
    tries: int = 1
    kept: str = ""

    @property
    def flaky(self) -> bool:
        """Tell whether it failed first and then passed on the same commit."""
        return self.exit_code == 0 and self.tries > 1


@dataclass(frozen=True, slots=True)
class Passed:
    """Every step was green; `seal` is the mark of the worker that saw it, over `sealed_text`."""

    steps: tuple[StepResult, ...]
    seal: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """The last of `steps` was red; `reason` is gate_failed or gate_timeout."""

    reason: Reason
    steps: tuple[StepResult, ...]
    first_error: str
    tail: str

    @property
    def step(self) -> StepResult:
        """Return the step that failed."""
        return self.steps[-1]


class Lack(StrEnum):
    """What a run without a verdict lacked."""

    INFRASTRUCTURE = "infrastructure"
    SANDBOX = "sandbox"


@dataclass(frozen=True, slots=True)
class NoVerdict:
    """Nothing is known: infrastructure, cancelled, or a host that computed another commit.

    Without a sandbox nothing ran at all, and nothing may until a person looked at that host.
    """

    why: str
    lack: Lack = Lack.INFRASTRUCTURE


GateResult = Passed | Failed | NoVerdict


@dataclass(frozen=True, slots=True)
class Verdict:
    """A passed gate, bound to the exact commits it vouches for.

    Of a group, `base` is where it starts, `merged` its last commit, and `group` its PRs in order.
    Where `run` was on another commit with the same tree, that is `tested`.
    """

    base: Sha
    merged: Sha
    tree: str
    run: str
    spec: str
    worker: str
    steps: tuple[StepResult, ...]
    group: tuple[int, ...] = ()
    seal: str = ""
    tested: Sha | None = None

    @property
    def flaky(self) -> bool:
        """Tell whether a step was red first and then green on the same commit."""
        return any(step.flaky for step in self.steps)


@dataclass(frozen=True, slots=True)
class Gated:
    """What a green run is about: the lane's key, the run, its commit, and the gate's digest."""

    lane: str
    run: str
    merged: Sha
    spec: str


def sealed_text(gated: Gated, steps: tuple[StepResult, ...]) -> str:
    """Return the text that the seal of a green run is over."""
    rows = [asdict(each) | {"seconds": float(each.seconds)} for each in steps]
    document = asdict(gated) | {"steps": rows, "verdict": "pass"}
    return json.dumps(document, sort_keys=True, ensure_ascii=True)
