"""The repository's rules, `.mergebot.toml`, as values; DESIGN.md section 4 gives each meaning."""

from dataclasses import dataclass, field
from enum import StrEnum

from mergebot.domain.gate import GateSpec


class Method(StrEnum):
    """How a head is replayed on its base."""

    REBASE = "rebase"
    SQUASH = "squash"
    MERGE = "merge"


@dataclass(frozen=True, slots=True)
class QueuePolicy:
    """Labels, order and method; `window` and `batch` are 0 where the file says "auto"."""

    label: str = "merge-queue"
    fix_label: str = "merge-queue-fix"
    hold_label: str = "merge-queue-hold"
    actors: tuple[int, ...] = ()
    method: Method = Method.REBASE
    window: int = 0
    batch: int = 1
    require_approvals: int = 0
    fork_pull_requests: bool = False


@dataclass(frozen=True, slots=True)
class ExternalChecks:
    """Checks that the repository's own CI must report on the merged commit."""

    checks: tuple[str, ...] = ()
    skippable: tuple[str, ...] = ()
    timeout_s: float = 2700.0


@dataclass(frozen=True, slots=True)
class ClaimPolicy:
    """Whether a claim is needed, and the paths that only a literal name and an admin open."""

    required: bool = False
    protected: tuple[str, ...] = (".github/**", ".mergebot.toml")


@dataclass(frozen=True, slots=True)
class Contract:
    """A named promise shared by several parts of the code."""

    name: str
    paths: tuple[str, ...]
    owners: tuple[str, ...] = ()


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
    health: HealthPolicy = field(default_factory=HealthPolicy)


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
