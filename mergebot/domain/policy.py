"""The repository's rules, `.mergebot.toml`, as values; DESIGN.md section 4 gives each meaning."""

from dataclasses import dataclass, field, replace
from enum import StrEnum

from mergebot.domain.gate import ExternalChecks, GateSpec


class Method(StrEnum):
    """How a head is replayed on its base."""

    REBASE = "rebase"
    SQUASH = "squash"
    MERGE = "merge"


class Hedging(StrEnum):
    """What idle slots gate: nothing, what is needed if a risky candidate is red, or any is."""

    OFF = "off"
    RISKY = "risky"
    IDLE = "idle"


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """Labels, order and method; `window` and `batch` are 0 where the file says "auto".

    `share` of the window is the most that one author holds while others wait.
    """

    label: str = "merge-queue"
    fix_label: str = "merge-queue-fix"
    hold_label: str = "merge-queue-hold"
    actors: tuple[int, ...] = ()
    method: Method = Method.REBASE
    window: int = 0
    batch: int = 1
    require_approvals: int = 0
    fork_pull_requests: bool = False
    share: float = 1.0
    hedge: Hedging = Hedging.OFF


@dataclass(frozen=True, slots=True)
class ClaimPolicy:
    """Whether a claim is needed, and the paths that only a literal name and an admin open.

    At most `pool` claims live at once, as many as there are asked for where it is 0; one that was
    silent for `suspect_after_s` is shown as suspect.
    """

    required: bool = False
    protected: tuple[str, ...] = (".github/**", ".mergebot.toml")
    pool: int = 0
    suspect_after_s: float = 86400.0


@dataclass(frozen=True, slots=True)
class Contract:
    """A named promise shared by several parts of the code.

    `used_by` are the files that rely on it; where none are named, any may. `tests` are the gate's
    steps that show whether a change fits a revision that it was not written for.
    """

    name: str
    paths: tuple[str, ...]
    owners: tuple[str, ...] = ()
    used_by: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BudgetPolicy:
    """How often a PR may fail before a person is asked; `runtime_s` sums its gates."""

    failures: int = 3
    infra: int = 3
    runtime_s: float = 10800.0


class StepOrder(StrEnum):
    """Which of the steps that could run next does: the first listed, or the likeliest to fail."""

    LISTED = "listed"
    FAIL_FIRST = "fail-first"


class Culprit(StrEnum):
    """How the first bad landing is found once the trunk is red."""

    BISECT = "bisect"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class HealthPolicy:
    """What decides whether the trunk's tip is green."""

    check: str = "gate"
    culprit: Culprit = Culprit.BISECT


@dataclass(frozen=True, slots=True)
class FleetPolicy:
    """What tasks are handed out to agents, and when none are; 0 and "" set no bound.

    The backlog is every open issue with `backlog_label`; where `unattended_labels` are named, only
    those with one of them. At most `live_claims_max` claims live, `share_per_owner` of one owner,
    while at most `queue_longest` changes wait, the gates of the last day took less than
    `runtime_max_s`, the trunk was red at fewer than `reds_max` tips, and agents reported less than
    `cost_max`, in `cost_unit`, for that day. Tasks are handed out from minute `opens_min` of the day to `closes_min`, in UTC, around midnight too;
    equal ones mean the whole day. An issue with `question_label` waits for a person.
    """

    backlog_label: str = ""
    unattended_labels: tuple[str, ...] = ()
    question_label: str = "needs-a-person"
    live_claims_max: int = 0
    share_per_owner: int = 0
    queue_longest: int = 0
    runtime_max_s: float = 0.0
    reds_max: int = 5
    cost_max: float = 0.0
    cost_unit: str = "USD"
    opens_min: int = 0
    closes_min: int = 0


@dataclass(frozen=True, slots=True)
class Policy:
    """Everything `.mergebot.toml` says."""

    gate: GateSpec
    trunk: str = "main"
    order: StepOrder = StepOrder.LISTED
    queue: QueuePolicy = field(default_factory=QueuePolicy)
    external: ExternalChecks = field(default_factory=ExternalChecks)
    claims: ClaimPolicy = field(default_factory=ClaimPolicy)
    contracts: tuple[Contract, ...] = ()
    budget: BudgetPolicy = field(default_factory=BudgetPolicy)
    fleet: FleetPolicy = field(default_factory=FleetPolicy)
    health: HealthPolicy = field(default_factory=HealthPolicy)

    @property
    def own_gate(self) -> GateSpec:
        """Return the gate's own steps, without the checks of others."""
        without = replace(self.gate, external=ExternalChecks())
        return without if self.gate.external.checks else self.gate

    @property
    def trunk_check(self) -> str:
        """Return who decides about the trunk: where the gate has no steps, others' checks alone."""
        alone = not self.gate.steps and bool(self.gate.external.checks)
        return "external" if alone else self.health.check

    @property
    def trunk_gate(self) -> GateSpec:
        """Return what decides whether the trunk's tip is green."""
        match self.trunk_check:
            case "external":
                return replace(self.gate, steps=(), setup="")
            case "both":
                return self.gate
            case _:
                return self.own_gate

    @property
    def asks_others_about_trunk(self) -> bool:
        """Tell whether others' checks speak on the trunk's health."""
        return self.trunk_check != "gate" and bool(self.gate.external.checks)


@dataclass(frozen=True, slots=True)
class PolicyFaults:
    """Why a file was refused: every unknown key and wrong value, one sentence each."""

    faults: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoPolicy:
    """The trunk has no `.mergebot.toml`, so there is no gate and nothing can land."""


EXAMPLE = """\
[[gate.steps]]
name = "test"
run = "make test"
"""
