"""What people and agents do by hand: through the API, the command line, or a comment."""

from dataclasses import dataclass, replace

from mergebot.domain.admission import Labelled, Retried, judged
from mergebot.domain.candidate import Cancelled, Candidate, Ejected, Kind, Landing
from mergebot.domain.decision import Decision
from mergebot.domain.ids import Actor, Lane, Sha, short
from mergebot.domain.lane import Asked, Green, Halt
from mergebot.domain.notices import turned_away
from mergebot.domain.pulls import Permission, PullRequest
from mergebot.domain.reasons import Reason
from mergebot.domain.watching import label_of
from mergebot.domain.wording import duration
from mergebot.ports.errors import Refused, TurnedAway, Unavailable
from mergebot.services.admitting import Wish, bring_in, queue_policy, want_label
from mergebot.services.deciding import decide
from mergebot.services.deeds import Deed, note
from mergebot.services.own_labels import remember
from mergebot.services.parts import Parts


def free_to_write(parts: Parts) -> None:
    """Raise Unavailable where the account wrote all that the forge takes in this minute."""
    _take(parts, 0, spare=1)


def take_turn(parts: Parts) -> None:
    """Take one write out of the account's minute; raises Unavailable where there is none left."""
    _take(parts, 1, spare=0)


def _take(parts: Parts, writes: int, *, spare: int) -> None:
    wait_s = parts.store.pace(str(parts.forge.me().id), writes, spare=spare)
    if wait_s:
        text = f"the forge takes no more writes for {duration(max(1.0, wait_s))}"
        raise Unavailable(text, wait_s)


@dataclass(frozen=True, slots=True)
class Operating:
    """Implements the port Operator over the queue's own services."""

    parts: Parts

    def hold(self, lane: Lane, pr: int, by: Actor) -> None:
        """Park a PR at its place, by setting the label that holds."""
        label = queue_policy(self.parts.store.read(lane)).hold_label
        take_turn(self.parts)
        self.parts.forge.add_label(lane.repo, pr, label)
        note(self.parts, lane, Deed(by, "hold", pr))
        self.parts.doorbell.tick(lane)

    def unhold(self, lane: Lane, pr: int, by: Actor) -> None:
        """Let a held PR go on, by removing that label."""
        label = queue_policy(self.parts.store.read(lane)).hold_label
        take_turn(self.parts)
        self.parts.forge.remove_label(lane.repo, pr, label)
        note(self.parts, lane, Deed(by, "unhold", pr))
        self.parts.doorbell.tick(lane)

    def enqueue(
        self, lane: Lane, pr: int, by: Actor, *, asked_at: float = 0.0, seen: Sha | None = None
    ) -> None:
        """Queue a PR at its present head, by setting its label.

        A wish from `asked_at` (0.0: from now) is refused where the head was pushed since then or is
        not the one `seen`, and one for a head that failed already changes nothing. Raises
        TurnedAway where it ends at once.
        """
        self._enqueue(lane, pr, by, Labelled(), asked_at=asked_at, seen=seen)
        note(self.parts, lane, Deed(by, "queue", pr))

    def retry(
        self,
        lane: Lane,
        pr: int,
        by: Actor,
        reason: str,
        *,
        asked_at: float = 0.0,
        seen: Sha | None = None,
    ) -> None:
        """Open the next attempt at the same head; `reason` says why it may end otherwise.

        It is refused where the head was pushed since `asked_at`, or is not the one `seen`.
        """
        if not reason.strip():
            raise Refused("a retry needs a reason: say what is different this time")
        way = Retried(reason.strip(), self._authority(by))
        self._enqueue(lane, pr, by, way, asked_at=asked_at, seen=seen)
        note(self.parts, lane, Deed(by, "retry", pr, reason.strip()))

    def cancel(self, lane: Lane, pr: int, by: Actor) -> None:
        """Take a PR out of the queue; its label goes with it.

        What is landing may land nevertheless; where it does not, it is cancelled then.
        """
        if self.parts.store.read(lane).candidate(pr) is None:
            raise Refused(f"#{pr} is not in the queue")
        take_turn(self.parts)

        def rule(decision: Decision) -> Decision:
            current = decision.snapshot.candidate(pr)
            if current is None:
                return decision
            text = f"cancelled by {by.login}"
            if isinstance(current.state, Landing):
                regretted = decision.put(replace(current, regret=by.login))
                return regretted.tell("regretted", f"{text} while it was landing", pr=pr)
            state = Cancelled(Reason.LABEL_REMOVED, text, decision.snapshot.now)
            return decision.move(current, state, text)

        candidate = decide(self.parts, lane, rule).candidate(pr)
        if candidate is not None:
            label = label_of(candidate.kind, queue_policy(self.parts.store.read(lane)))
            self.parts.forge.remove_label(lane.repo, pr, label)
        note(self.parts, lane, Deed(by, "cancel", pr))
        self.parts.doorbell.tick(lane)

    def halt(self, lane: Lane, by: Actor, reason: str) -> None:
        """Let nothing land until somebody resumes; beside a halt that stands, for both reasons."""
        if not reason.strip():
            raise Refused("a halt needs a reason: people will ask")

        def rule(decision: Decision) -> Decision:
            halt = Halt(reason.strip(), decision.snapshot.now, by.login, "somebody resumes")
            return decision.halt(halt, f"{by.login} halted: {reason.strip()}")

        decide(self.parts, lane, rule)
        note(self.parts, lane, Deed(by, "halt", why=reason.strip()))
        self.parts.doorbell.tick(lane)

    def resume(self, lane: Lane, by: Actor, reason: str) -> None:
        """End a halt that a person or an odd trunk made."""

        def rule(decision: Decision) -> Decision:
            if decision.snapshot.state.halt is None:
                return decision
            text = f"{by.login} resumed" + (f": {reason.strip()}" if reason.strip() else "")
            return decision.resume(text)

        decide(self.parts, lane, rule)
        note(self.parts, lane, Deed(by, "resume", why=reason.strip()))
        self.parts.doorbell.tick(lane)

    def _enqueue(
        self,
        lane: Lane,
        pr: int,
        by: Actor,
        way: Labelled | Retried,
        *,
        asked_at: float,
        seen: Sha | None = None,
    ) -> None:
        read_at = self.parts.clock.now()
        pull = self.parts.forge.pull(lane.repo, pr)
        if pull.closed:
            raise Refused(f"#{pr} is closed, so it cannot be queued")
        pushed_at = self.parts.forge.head_pushed_at(lane.repo, pull) if asked_at else None
        moved = pushed_at is not None and pushed_at >= asked_at
        if seen not in {None, pull.head}:
            text = f"the head of #{pr} is {short(pull.head)}, not {short(seen)}"
            raise Refused(f"{text}: look at it and ask again")
        if moved:
            raise Refused(f"#{pr} was pushed to after you asked: look at its head and ask again")
        before = self.parts.store.latest(lane, pr)
        failed = judged(before, pull.head) if isinstance(way, Labelled) else None
        # Where it strayed, it may have got a wider claim since.
        if before is not None and failed is not None and failed.reason is not Reason.OUT_OF_SCOPE:
            raise Refused(self._turned_away(lane, before))
        kind = self._kind(lane, pull, way)
        if label_of(kind, queue_policy(self.parts.store.read(lane))) not in pull.labels:
            take_turn(self.parts)
        why = way.why if isinstance(way, Retried) else ""
        remember(self.parts, lane, Asked(pr, pull.head, by, read_at, why))
        want_label(self.parts, lane, pull, kind)
        if self.parts.store.read(lane).state.recovering:
            # The label is the record: the rebuild admits it in its turn.
            return
        became = bring_in(self.parts, lane, Wish(pull, pull.head, kind, by, way, read_at))
        self.parts.doorbell.tick(lane)
        if isinstance(became.state, Ejected | Cancelled):
            new = before is None or before.attempt != became.attempt
            refusal = TurnedAway if new else Refused
            raise refusal(self._turned_away(lane, became))

    def _turned_away(self, lane: Lane, candidate: Candidate) -> str:
        return turned_away(candidate, self.parts.store.read(lane).policy, lane.trunk)

    def _authority(self, by: Actor) -> Permission:
        """Return what `by` may do where the forge cannot tell: as the bot only its admin asks."""
        own = by.id == self.parts.forge.me().id
        return Permission.ADMIN if own else Permission.NONE

    def _kind(self, lane: Lane, pull: PullRequest, way: Labelled | Retried) -> Kind:
        """Return which lane is asked for: a repair that is tried again stays one until it is green."""
        snapshot = self.parts.store.read(lane)
        latest = self.parts.store.latest(lane, pull.number)
        was = latest is not None and latest.kind is Kind.REPAIR and isinstance(way, Retried)
        green = isinstance(snapshot.state.health, Green)
        labelled = pull.has(queue_policy(snapshot).fix_label)
        return Kind.REPAIR if labelled or (was and not green) else Kind.NORMAL
