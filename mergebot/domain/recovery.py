"""Recovery: what the receipts on git say of the past, and the record that follows from it.

Receipts outlive Redis, because each was pushed together with the landing that it speaks of. They
say what landed, which commits were green, and how high generations had risen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mergebot.domain.candidate import (
    Budget,
    Candidate,
    Claim,
    Kind,
    Landed,
    Merge,
    NoClaim,
    Proposal,
)
from mergebot.domain.decision import Decision
from mergebot.domain.effects import PublishNotice, RemoveLabel
from mergebot.domain.ids import Actor, Lane, Sha, parse_sha
from mergebot.domain.lane import Recovery
from mergebot.domain.limits import GENERATION_LEAP, GREENS_MAX, LAST_WRITES
from mergebot.domain.policy import QueuePolicy
from mergebot.domain.pulls import PullRequest
from mergebot.domain.receipts import Receipt
from mergebot.domain.wording import count, from_iso


@dataclass(frozen=True, slots=True)
class PastLanding:
    """A landing as its receipt tells it; of a group, only the last one's commit was gated."""

    receipt: Receipt
    candidate: Candidate
    merge: Merge
    previous: str
    generation: int
    epoch: int
    at: float
    gated: bool = True

    def titled(self, title: str) -> "PastLanding":
        """Return the same landing, its PR called `title`."""
        proposal = replace(self.candidate.proposal, title=title)
        return replace(self, candidate=replace(self.candidate, proposal=proposal))

    def shown_as(self, pull: PullRequest, repo: str) -> "PastLanding":
        """Return the same landing, its PR as the forge shows it now."""
        proposal = Proposal(
            title=pull.title,
            body=pull.body,
            author=pull.author,
            head_branch=pull.head_branch,
            same_repository=pull.head_repo == repo and pull.head == self.merge.merged,
        )
        return replace(self, candidate=replace(self.candidate, proposal=proposal))


@dataclass(frozen=True, slots=True)
class Past:
    """Every landing of a lane, oldest first, and the digest of the receipt to chain the next to."""

    landings: tuple[PastLanding, ...] = ()
    last_receipt: str = ""

    @property
    def generation(self) -> int:
        """Return a generation above every one that was ever used, as far as receipts tell."""
        highest = max((each.generation for each in self.landings), default=0)
        return highest + GENERATION_LEAP if self.landings else 0

    @property
    def epoch(self) -> int:
        """Return the newest epoch that a receipt names, 0 without any."""
        return max((each.epoch for each in self.landings), default=0)


def read_landing(lane: Lane, commit: Sha, receipt: Receipt) -> PastLanding | None:
    """Return the landing that a note on `commit` tells of, None where it is none of this lane."""
    try:
        return _landing(lane, commit, receipt.fields, receipt)
    except (KeyError, TypeError, ValueError):
        return None


def past_of(landings: Sequence[PastLanding], trunk: Sequence[Sha]) -> Past:
    """Return the past in order; `trunk` has the trunk's own commits, oldest first."""
    places = {commit: place for place, commit in enumerate(trunk)}
    ordered = sorted(
        landings, key=lambda each: (places.get(each.merge.merged, -1), each.at, each.generation)
    )
    followed = {each.previous for each in ordered}
    ends = [each for each in ordered if each.receipt.digest not in followed]
    last = ends[-1].receipt.digest if ends else ""
    return Past(tuple(ordered), last)


def rebuild(decision: Decision, past: Past, missing: Sequence[PastLanding]) -> Decision:
    """Take `missing` into the record: landings of `past` that the record does not know.

    A candidate that is still open here and landed long ago ends as landed.
    """
    for each in missing:
        decision = _take_in(decision, each)
    state = decision.snapshot.state
    greens = dict.fromkeys(
        [*state.greens, *(each.merge.merged for each in past.landings if each.gated)]
    )
    return decision.lane(
        epoch=max(state.epoch, past.epoch + 1),
        generation=max(state.generation, past.generation),
        greens=tuple(greens)[-GREENS_MAX:],
        last_receipt=past.last_receipt or state.last_receipt,
        recovering=True,
    )


def finish(decision: Decision, past: Past, *, landed: int, kept: int) -> Decision:
    """End the recovery and tell what came of it; the PRs beyond `kept` were queued by label.

    The newest landings get their notice again, because the loss may have swallowed it, or a rebuild
    before this one that took them in and was interrupted.
    """
    queue = decision.snapshot.policy.queue if decision.snapshot.policy else QueuePolicy()
    for each in past.landings[-LAST_WRITES:]:
        pr = each.candidate.pr
        if decision.snapshot.candidate(pr) is None:
            notice = PublishNotice(pr, each.candidate.attempt)
            decision = decision.want(notice, RemoveLabel(pr, queue.label))
    queued = max(len(decision.snapshot.candidates) - kept, 0)
    recovery = Recovery(decision.snapshot.now, landed, kept, queued)
    decision = decision.lane(recovering=False, recovered=recovery)
    return decision.tell("recovered", recovery_text(recovery))


def recovery_text(recovery: Recovery) -> str:
    """Return what a recovery did, in one sentence."""
    if not (recovery.landed or recovery.kept or recovery.queued):
        return "the queue is new: it holds no receipt and no label asks for anything"
    return (
        f"the queue was rebuilt: {count(recovery.landed, 'landing')} read from receipts,"
        f" {count(recovery.kept, 'pull request')} kept,"
        f" {count(recovery.queued, 'pull request')} queued again by label"
    )


def _take_in(decision: Decision, landing: PastLanding) -> Decision:
    landed = Landed(landing.merge, landing.receipt.digest, landing.at)
    candidate = landing.candidate
    present = decision.snapshot.candidate(candidate.pr)
    if present is not None and present.head == candidate.head:
        text = f"its receipt says that it landed as {landing.merge.merged[:7]}"
        return decision.receipt(landing.receipt).move(present, landed, text)
    decision = decision.receipt(landing.receipt)
    ended = candidate.moved(landed)
    return replace(decision, candidates=(*decision.candidates, ended))


def _landing(
    lane: Lane, commit: Sha, fields: Mapping[str, object], receipt: Receipt
) -> PastLanding | None:
    merged = parse_sha(_text(fields["merged"]))
    if fields["trunk"] != lane.trunk or merged != commit or fields["verdict"] != "pass":
        return None
    merge = Merge(parse_sha(_text(fields["base"])), merged, _text(fields["tree"]), ())
    at = from_iso(_text(fields["landed_at"]))
    by = _actor(fields["enqueued_by"])
    candidate = Candidate(
        pr=_number(fields["pr"]),
        head=parse_sha(_text(fields["head"])),
        attempt=_number(fields["attempt"]),
        seq=0,
        kind=Kind.NORMAL,
        proposal=Proposal(
            title="",
            body="",
            author=_actor(fields.get("author", fields["enqueued_by"])),
            head_branch="",
            same_repository=False,
        ),
        claim=_claim(fields),
        enqueued_by=by,
        enqueued_at=from_iso(_text(fields.get("enqueued_at", fields["landed_at"]))),
        budget=Budget(),
        state=Landed(merge, receipt.digest, at),
    )
    return PastLanding(
        receipt=receipt,
        candidate=candidate,
        merge=merge,
        previous=_text(fields["previous"]),
        generation=_number(fields["generation"]),
        epoch=_number(fields.get("epoch", 1)),
        at=at,
        gated=_gated(fields),
    )


def _gated(fields: Mapping[str, object]) -> bool:
    group = fields.get("group") or [fields["pr"]]
    return isinstance(group, list) and group[-1] == fields["pr"]


def _claim(fields: Mapping[str, object]) -> Claim | NoClaim:
    claim = fields.get("claim")
    if not isinstance(claim, dict):
        return NoClaim()
    task = fields.get("task")
    return Claim(_text(claim["id"]), _text(task or ""), (), generation=_number(claim["generation"]))


def _actor(value: object) -> Actor:
    if not isinstance(value, dict):
        raise TypeError("an actor is an object")
    return Actor(_number(value["id"]), _text(value["login"]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is expected")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError("a whole number is expected")
    return value
