"""Composing what is written on a pull request, from its candidate as it is now."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from mergebot.domain.candidate import (
    Candidate,
    Ejected,
    GateEvidence,
    Landed,
    ScopeEvidence,
    ended_at,
)
from mergebot.domain.early_notice import Desk, early_notice
from mergebot.domain.ids import Lane, Sha
from mergebot.domain.lane import Snapshot
from mergebot.domain.notices import NOTHING, Beside, Light, Notice, notice_of
from mergebot.domain.planning import in_order
from mergebot.domain.receipts import Receipt
from mergebot.domain.remarks import Remark, remarks_in
from mergebot.domain.status import Place, Setting
from mergebot.ports.errors import Refused, Unavailable
from mergebot.ports.forge import CheckReport, CheckState
from mergebot.services.admitting import queue_policy
from mergebot.services.parts import Parts
from mergebot.services.repositories import git_of, repository_of

LIGHTS: Mapping[Light, CheckState] = {
    "pending": CheckState.PENDING,
    "success": CheckState.SUCCESS,
    "failure": CheckState.FAILURE,
    "neutral": CheckState.NEUTRAL,
}

RECENT_LANDINGS = 500


@dataclass(frozen=True, slots=True)
class Letter:
    """A comment to be written or edited, and the check beside it.

    `fresh` names what a new comment is for, "" while the one that is there is edited; `marker`
    stands in the body and finds it again; two letters with one `digest` say the same.
    """

    body: str
    fresh: str
    marker: str
    digest: str
    check: CheckReport | None


class Form(IntEnum):
    """How much a letter holds: what the forge refused in full it may take in a reduced form."""

    FULL = 0
    SHORT = 1
    PLAIN = 2


def letter_for(parts: Parts, lane: Lane, pr: int, form: Form = Form.FULL) -> Letter | None:
    """Return what the PR's comment and check should say now, None where it has no candidate.

    SHORT leaves out the patch and the end of the log, PLAIN everything but one sentence.
    """
    snapshot = parts.store.read(lane)
    candidate = snapshot.candidate(pr) or parts.store.latest(lane, pr)
    early = _early_letter(parts, snapshot, candidate, pr)
    if early is not None or candidate is None:
        return early
    remote = repository_of(parts, lane.repo).clone_url
    setting = Setting(lane, snapshot.state.rules.policy, parts.public_url, remote)
    place = Place(position=_position(snapshot, pr))
    beside = _beside(parts, lane, candidate) if form is Form.FULL else NOTHING
    notice = notice_of(candidate, setting, place=place, beside=beside)
    check = CheckReport(
        sha=_checked(candidate),
        state=LIGHTS[notice.light],
        title=notice.title,
        summary=notice.summary,
        url=setting.page(pr),
        pr=pr,
        attempt=candidate.attempt,
        remarks=_remarks(candidate),
    )
    body = parts.letters.render(notice.template, _facts(notice, form))
    if form is Form.PLAIN:
        hidden, headline, marker = (notice.facts[key] for key in ("hidden", "headline", "marker"))
        body = f"{hidden}\n{headline}: {setting.page(pr)}\n{marker}\n"
    return Letter(body, notice.fresh, notice.marker, notice.digest, check)


def _early_letter(
    parts: Parts, snapshot: Snapshot, candidate: Candidate | None, pr: int
) -> Letter | None:
    """Return what a PR that is not queued should say, None where its candidate has the word.

    There is no check beside it: nothing was tested, and a check that is no verdict could be taken
    for one.
    """
    lane = snapshot.lane
    early = next((each for each in parts.ledger.early(lane) if each.pr == pr), None)
    if early is None or not early.worth_saying:
        return None
    if candidate is not None and (
        candidate.open
        or candidate.head == early.head
        or early.at <= ended_at(candidate.state)
        or not (early.warns or early.said)
    ):
        return None
    queue = queue_policy(snapshot)
    page = f"{parts.public_url.rstrip('/')}/{lane.repo}/claims"
    desk = Desk(lane, queue.label, parts.handle, page)
    notice = early_notice(early, desk, after_attempt=candidate.attempt if candidate else 0)
    body = parts.letters.render(notice.template, notice.facts)
    return Letter(body, notice.fresh, notice.marker, notice.digest, None)


def _facts(notice: Notice, form: Form) -> Mapping[str, object]:
    return notice.facts if form is Form.FULL else {**notice.facts, "tail": "", "patch": ""}


def _remarks(candidate: Candidate) -> tuple[Remark, ...]:
    match candidate.state:
        case Ejected(evidence=GateEvidence(result=result)):
            return remarks_in(f"{result.first_error}\n{result.tail}")
        case _:
            return ()


def _checked(candidate: Candidate) -> Sha:
    """Return the commit that the forge shows as the PR's head."""
    match candidate.state:
        case Landed(merge, head_left=False) if candidate.proposal.same_repository:
            return merge.merged
        case _:
            return candidate.head


def _position(snapshot: Snapshot, pr: int) -> int | None:
    places = [each.pr for each in in_order(snapshot)]
    return places.index(pr) + 1 if pr in places else None


def _beside(parts: Parts, lane: Lane, candidate: Candidate) -> Beside:
    match candidate.state:
        case Ejected(evidence=GateEvidence(merge) | ScopeEvidence(merge)):
            return Beside(patch=_patch(parts, lane, merge.base, merge.merged))
        case Landed(receipt=digest):
            return Beside(receipt=_receipt(parts, lane, digest))
        case _:
            return Beside()


def _patch(parts: Parts, lane: Lane, base: Sha, merged: Sha) -> str:
    """Return the diff where this host can make it; the letter is worth writing without it."""
    try:
        return git_of(parts, lane).patch(base, merged)
    except (Unavailable, Refused):
        return ""


def _receipt(parts: Parts, lane: Lane, digest: str) -> Mapping[str, object]:
    receipts: list[Receipt] = list(parts.store.landings(lane, limit=RECENT_LANDINGS))
    return next((each.fields for each in receipts if each.digest == digest), {})
