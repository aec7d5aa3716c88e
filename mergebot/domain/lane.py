"""A lane's own state: the trunk's health, halts, the rules in force, and its gate runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from mergebot.domain.candidate import Candidate
from mergebot.domain.capacity import Capacity, Host, capacity
from mergebot.domain.gate import GateResult, GateSpec
from mergebot.domain.ids import Actor, Lane, Sha
from mergebot.domain.policy import NoPolicy, Policy, PolicyFaults, StepOrder


@dataclass(frozen=True, slots=True)
class UnknownHealth:
    """Nobody knows this tip's health; nothing lands on it.

    After a run without a verdict, `why` says what happened, and it is tested again at `retry_at`.
    """

    tip: Sha | None = None
    retry_at: float = 0.0
    why: str = ""
    tries: int = 0


@dataclass(frozen=True, slots=True)
class Checking:
    """The gate runs on the tip itself, after `tries` runs that gave no verdict."""

    tip: Sha
    run: str
    tries: int = 0


@dataclass(frozen=True, slots=True)
class Green:
    """The gate is green for exactly this tip."""

    tip: Sha
    since: float


@dataclass(frozen=True, slots=True)
class Red:
    """The gate is red for exactly this tip; `run` is the run that says so.

    `last_green` is the newest ancestor known to be green, and `suspects` are the commits after it
    up to the tip, oldest first: the first bad landing is among them. `probe` is the run that
    bisects them now, or empty.
    """

    tip: Sha
    since: float
    run: str
    step: str
    command: str
    last_green: Sha | None = None
    suspects: tuple[Sha, ...] = ()
    probe: str = ""
    probed: Sha | None = None


Health = UnknownHealth | Checking | Green | Red


@dataclass(frozen=True, slots=True)
class Halt:
    """Nothing lands until an authorised person resumes; `by` is who or what halted."""

    reason: str
    since: float
    by: str
    ends_when: str


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules in force, as read from the commit `at` of the trunk; broken ones since `since`."""

    at: Sha | None
    policy: Policy | PolicyFaults | NoPolicy
    since: float = 0.0


@dataclass(frozen=True, slots=True)
class Recovery:
    """What was rebuilt at `at`: landings read from receipts, PRs kept, and PRs queued by label."""

    at: float
    landed: int
    kept: int
    queued: int


@dataclass(frozen=True, slots=True)
class Refusals:
    """How often the checker refused a proposal for each reason; `recent` has the last sentences."""

    counts: Mapping[str, int] = field(default_factory=dict)
    recent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Heard:
    """How the gate of a candidate ended: the step and its first error, "" for a green one."""

    pr: int
    attempt: int
    step: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """`by` asked at `at` to land `pr` at `head`, and the bot sets the label for it.

    Kept from before the label is written until a candidate was made of it: the label alone does not
    say who wanted what. `why` is the reason of a retry, "" for a first try.
    """

    pr: int
    head: Sha
    by: Actor
    at: float
    why: str = ""


def asked_for(asked: Sequence[Asked], pr: int) -> Asked | None:
    """Return what was asked for `pr`, while no candidate was made of it."""
    return next((each for each in asked if each.pr == pr), None)


def asked_but(asked: Sequence[Asked], pr: int) -> tuple[Asked, ...]:
    """Return what was asked for other PRs."""
    return tuple(each for each in asked if each.pr != pr)


@dataclass(frozen=True, slots=True)
class Unsure:
    """Somebody may still write over the comments of `pr`; after `looks` they are read at `at`."""

    pr: int
    at: float
    looks: int = 0


@dataclass(frozen=True, slots=True)
class RedTip:
    """The trunk was found red at `tip`."""

    tip: Sha
    at: float


@dataclass(frozen=True, slots=True)
class LaneState:
    """What a lane knows besides its candidates.

    `asked` is who asked the bot to set a label that no candidate was made of yet, and `unsure` are the
    PRs whose comments are looked at again.
    `resumed_at` is when somebody ended a halt last. Since `refused_since` the repository is not to be
    had, 0.0 while it is, and it is asked for again at `retry_at`.
    `known_tip` is the last tip that was accounted for; `greens` are the commits last seen green,
    newest last. `waiting` says why the lane cannot go on for now, and `recovering` that the queue
    is being rebuilt, so nothing is gated and nothing lands. `epoch` counts the rebuilds. Since
    `behind_since` the remote shows an older trunk than the known one, 0.0 while it does not. `mode`
    says how the planner works now, and `refusals` what its checker did not let through. `heard` are
    the last results of candidates, newest last, and `owed` the PRs that get a failure back. `reds`
    are the tips that were found red within the last day, newest last.
    """

    epoch: int = 1
    next_seq: int = 1
    generation: int = 0
    known_tip: Sha | None = None
    greens: tuple[Sha, ...] = ()
    health: Health = field(default_factory=UnknownHealth)
    halt: Halt | None = None
    resumed_at: float = 0.0
    refused_since: float = 0.0
    retry_at: float = 0.0
    rules: Rules = field(default_factory=lambda: Rules(None, NoPolicy()))
    recovering: bool = False
    waiting: str = ""
    last_receipt: str = ""
    asked: tuple[Asked, ...] = ()
    unsure: tuple[Unsure, ...] = ()
    last_action: str = ""
    behind_since: float = 0.0
    mode: str = ""
    refusals: Refusals = field(default_factory=Refusals)
    recovered: Recovery | None = None
    heard: tuple[Heard, ...] = ()
    owed: tuple[int, ...] = ()
    rooms: Mapping[str, int] = field(default_factory=dict)
    reds: tuple[RedTip, ...] = ()


NEW_LANE = LaneState(recovering=True)
"""A lane that nothing was ever written about: either new, or its record is lost."""


@dataclass(frozen=True, slots=True)
class RunOrder:
    """What a worker must gate: the merged commit `merged` of `head` on `base`.

    For a run on the trunk itself `pr` is 0 and head, base and merged are the same commit. Of a
    group it names the last PR; `members` has all of them, in landing order. `tried` says how often
    a step ran on this commit before, so that a pass counts as flaky, and `order` which steps go
    first.
    """

    run: str
    pr: int
    head: Sha
    base: Sha
    merged: Sha
    spec: GateSpec
    ordered_at: float
    generation: int
    members: tuple[int, ...] = ()
    tried: Mapping[str, int] = field(default_factory=dict)
    order: StepOrder = StepOrder.LISTED


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is: `beat` is when its worker was last heard of, 0.0 before one took it."""

    worker: str = ""
    started_at: float = 0.0
    beat: float = 0.0
    step: str = ""
    step_since: float = 0.0
    steps_done: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """A gate run: its order, its progress and, once it ended, its result."""

    order: RunOrder
    progress: RunProgress = field(default_factory=RunProgress)
    result: GateResult | None = None
    ended_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything one decision rests on, read once; `candidates` are the open ones by `seq`.

    `mark` names the very commit that was read: a revision comes again once writes were lost.
    `slots` are as many as the workers announce, and `hosts` are those that are known better.
    """

    lane: Lane
    revision: int
    state: LaneState
    candidates: tuple[Candidate, ...]
    runs: Mapping[str, Run]
    slots: int
    now: float
    mark: str = ""
    hosts: tuple[Host, ...] = ()

    @property
    def capacity(self) -> Capacity:
        """Return how many of the slots count, and why."""
        return capacity(self.hosts, self.state.rooms, self.slots)

    @property
    def policy(self) -> Policy | None:
        """Return the rules in force, or None while there are none that can be used."""
        policy = self.state.rules.policy
        return policy if isinstance(policy, Policy) else None

    @property
    def tip(self) -> Sha | None:
        """Return the trunk's tip as the lane knows it."""
        return self.state.known_tip

    def candidate(self, pr: int) -> Candidate | None:
        """Return the open candidate of `pr`, if there is one."""
        return next((each for each in self.candidates if each.pr == pr), None)

    def with_state(self, **changes: object) -> "Snapshot":
        """Return the snapshot with some fields of the lane's state replaced."""
        return replace(self, state=replace(self.state, **changes))  # type: ignore[arg-type]  # replace checks names itself

    def with_candidate(self, candidate: Candidate) -> "Snapshot":
        """Return the snapshot with `candidate` in the place of the one with its PR number.

        A terminal candidate leaves the snapshot; a new one joins at its `seq`.
        """
        return self.with_candidates((candidate,))

    def with_candidates(self, changed: Sequence[Candidate]) -> "Snapshot":
        """Return the snapshot with several candidates put in at once."""
        newest = {each.pr: each for each in changed}
        kept = [each for each in self.candidates if each.pr not in newest]
        kept.extend(each for each in newest.values() if each.open)
        kept.sort(key=lambda each: each.seq)
        return replace(self, candidates=tuple(kept))
