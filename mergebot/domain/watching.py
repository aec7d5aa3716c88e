"""What a pull request's present shape means for its open candidate."""

from mergebot.domain.candidate import Cancelled, Candidate, Kind, Parked, State, merge_of
from mergebot.domain.ids import short
from mergebot.domain.policy import QueuePolicy
from mergebot.domain.pulls import PullRequest
from mergebot.domain.reasons import Reason


def watch(
    candidate: Candidate, pull: PullRequest, *, trunk: str, queue: QueuePolicy, now: float
) -> State | None:
    """Return the state that `pull` forces on the candidate, or None where nothing changed.

    The merged commit of its own landing is not a new head. A PR that is merged here is left alone:
    its change is on the trunk, which says whether that was a landing of ours, even one that the
    record lost.
    """
    ended = _ended(candidate, pull, trunk=trunk, queue=queue)
    if ended is not None:
        reason, text = ended
        return Cancelled(reason, text, now)
    held = pull.has(queue.hold_label)
    match candidate.state:
        case Parked(Reason.HELD):
            return None
        case _ if held:
            return Parked(Reason.HELD, f"held by the label {queue.hold_label}")
        case _:
            return None


def unheld(candidate: Candidate, pull: PullRequest, queue: QueuePolicy) -> bool:
    """Tell whether a held candidate was let go."""
    parked = isinstance(candidate.state, Parked) and candidate.state.reason is Reason.HELD
    return parked and not pull.has(queue.hold_label)


def waits_for_people(candidate: Candidate) -> bool:
    """Tell whether only what people do ends the candidate's wait."""
    parked = candidate.state
    return isinstance(parked, Parked) and parked.reason in (Reason.HELD, Reason.NOT_READY)


def label_of(kind: Kind, queue: QueuePolicy) -> str:
    """Return the label that is the durable record of a candidate of this kind."""
    return queue.fix_label if kind is Kind.REPAIR else queue.label


def _ended(
    candidate: Candidate, pull: PullRequest, *, trunk: str, queue: QueuePolicy
) -> tuple[Reason, str] | None:
    merge = merge_of(candidate.state)
    own = merge is not None and pull.head == merge.merged
    label = label_of(candidate.kind, queue)
    if pull.merged and pull.base == trunk:
        return None
    if pull.closed:
        return Reason.CLOSED, "the pull request was closed"
    if candidate.regret:
        return Reason.LABEL_REMOVED, f"cancelled by {candidate.regret}"
    if pull.head != candidate.head and not own:
        return (
            Reason.HEAD_CHANGED,
            f"a push moved the head from {short(candidate.head)} to {short(pull.head)}",
        )
    if pull.base not in {trunk, candidate.proposal.base}:
        return Reason.BASE_CHANGED, f"it was retargeted from {trunk} to {pull.base}"
    if pull.draft:
        return Reason.DRAFT, "it was turned into a draft"
    if not pull.has(label) and not pull.closed:
        return Reason.LABEL_REMOVED, f"the label {label} was removed"
    return None
