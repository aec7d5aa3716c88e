"""The audit of the pool: gather what ticket, branch, hosts and queue say, decide, write what follows.

A claim that changed while its facts were gathered keeps its state: the audit names the exact
generation that it looked at.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import structlog

from mergebot.domain.audit import (
    Branch,
    Choice,
    Decided,
    Doubt,
    Facts,
    Free,
    Item,
    Local,
    Report,
    Ticket,
    judge,
    last_sign,
    pool_of,
)
from mergebot.domain.candidate import Landed
from mergebot.domain.holding import end, suspect
from mergebot.domain.ids import Lane, Sha, short
from mergebot.domain.lane import Snapshot
from mergebot.domain.ledger import Active, Change, How, Ledger, LedgerClaim
from mergebot.domain.policy import ClaimPolicy, Method
from mergebot.domain.pulls import PullRequest
from mergebot.domain.tickets import ticket_of
from mergebot.ports.errors import Missing, Refused, Unavailable
from mergebot.ports.git import EmptyReplay, Git, ReplayRequest
from mergebot.ports.ledger import HostReport
from mergebot.services.claiming import change, landed
from mergebot.services.parts import Parts
from mergebot.services.repositories import git_of

log = structlog.get_logger()


@dataclass(slots=True)
class _Inquiry:
    """What one audit has asked so far; each question is asked once."""

    parts: Parts
    lane: Lane
    git: Git
    snapshot: Snapshot
    tip: Sha | None
    branches: Mapping[str, Sha] | None
    reports: Sequence[HostReport]
    pulls: dict[int, PullRequest | None] = field(default_factory=dict)

    @property
    def claims(self) -> ClaimPolicy:
        """Return the rules on claims in force."""
        return self.snapshot.policy.claims if self.snapshot.policy else ClaimPolicy()

    def pull(self, number: int) -> PullRequest | None:
        """Return a pull request, None where there is none."""
        if number not in self.pulls:
            try:
                self.pulls[number] = self.parts.forge.pull(self.lane.repo, number)
            except Missing:
                self.pulls[number] = None
        return self.pulls[number]


def audit(parts: Parts, lane: Lane) -> Report:
    """Look at every claim of the pool and free those that are over; raises Unavailable, Refused."""
    return _audit(parts, lane, None, freeing=How.AUDITED)


def looked_over(parts: Parts, lane: Lane) -> Report:
    """Return what an audit would find and do, and do nothing."""
    return _audit(parts, lane, None, freeing=None)


def closed(parts: Parts, lane: Lane, *numbers: int) -> None:
    """Settle the claims of pull requests that were closed: over where branch and ticket agree.

    Where they do not, the claim is suspect. A landing ends its claim by itself, with its receipt.
    """
    ledger, snapshot = parts.ledger.read(lane), parts.store.read(lane)
    left = []
    for number in numbers:
        claim = ledger.of_pull(number)
        latest = parts.store.latest(lane, number)
        over = latest is not None and isinstance(latest.state, Landed)
        if claim is not None and not over and not parts.forge.pull(lane.repo, number).closed:
            continue
        parts.ledger.drop_early(lane, number)
        if latest is not None and isinstance(latest.state, Landed):
            landed(parts, lane, number, latest.state.receipt)
        elif claim is not None and snapshot.candidate(number) is None:
            left.append(claim)
    if not left:
        return
    inquiry, decisions = _inquire(parts, lane), parts.ledger.decisions(lane)
    for claim in left:
        item = _item(inquiry, claim, decisions)
        if not isinstance(item.verdict, Free):
            about = "; ".join(item.facts.about)
            item = replace(item, verdict=Doubt(f"closed, and not everything agrees: {about}"))
        _written(parts, lane, item, how=How.CLOSED)


def sweep(parts: Parts, lane: Lane) -> None:
    """Audit the claims that fell silent since the last round; age alone frees none of them."""
    snapshot = parts.store.read(lane)
    claims = snapshot.policy.claims if snapshot.policy else ClaimPolicy()
    now = parts.clock.now()
    silent = [
        claim.id
        for claim in parts.ledger.read(lane).claims.values()
        if isinstance(claim.state, Active) and now - last_sign(claim, 0.0) > claims.suspect_after_s
    ]
    if silent:
        report = _audit(parts, lane, silent, freeing=How.AUDITED)
        log.info("claims_looked_at", lane=lane.repo, claims=len(report.items))


def decide_local(parts: Parts, lane: Lane, decided: Decided) -> None:
    """Record what a person decided about work that only one machine has; raises Refused."""
    claim = parts.ledger.read(lane).claims.get(decided.claim)
    if claim is None:
        raise Refused(f"there is no live claim {decided.claim}")
    local = _local(parts.ledger.reports(lane), claim)
    if not local:
        raise Refused(
            f"no host reports local work for the claim {claim.id}; "
            "run `mergebot claim report-worktrees` where it is"
        )
    for each in local:
        parts.ledger.decided(lane, replace(decided, head=each.head))


def report_worktrees(parts: Parts, lane: Lane, report: HostReport) -> None:
    """Keep what a host says of its worktrees."""
    parts.ledger.report(lane, report)


def _audit(parts: Parts, lane: Lane, names: Sequence[str] | None, *, freeing: How | None) -> Report:
    """Look at the claims called `names`, or all; write what follows only where it is to free any."""
    inquiry = _inquire(parts, lane)
    before = parts.ledger.read(lane)
    decisions = parts.ledger.decisions(lane)
    asked = [
        claim
        for claim in sorted(before.claims.values(), key=lambda each: (each.claimed_at, each.id))
        if names is None or claim.id in names
    ]
    items = tuple(_item(inquiry, claim, decisions) for claim in asked)
    if freeing is not None:
        for item in items:
            _written(parts, lane, item, how=freeing)
    size = inquiry.claims.pool or len(before.claims)
    after = parts.ledger.read(lane)
    return Report(parts.clock.now(), pool_of(before, size), pool_of(after, size), items)


def _written(parts: Parts, lane: Lane, item: Item, *, how: How) -> None:
    """Free the claim or raise its flag, if it still is what was looked at."""
    now = parts.clock.now()

    def rule(ledger: Ledger) -> tuple[None, Change]:
        fresh = ledger.claims.get(item.claim.id)
        if fresh is None or fresh.generation != item.claim.generation:
            return None, Change((), ())
        match item.verdict:
            case Free(evidence):
                return None, end(ledger, fresh, how, evidence, now=now).change
            case Doubt(why):
                return None, suspect(fresh, why, now=now).change
            case _:
                return None, Change((), ())

    change(parts, lane, rule)


def _inquire(parts: Parts, lane: Lane) -> _Inquiry:
    git = git_of(parts, lane)
    tip = git.fetch(lane.trunk, []).trunk
    snapshot = parts.store.read(lane)
    return _Inquiry(
        parts=parts,
        lane=lane,
        git=git,
        snapshot=snapshot,
        tip=tip,
        branches=git.branches(),
        reports=parts.ledger.reports(lane),
    )


def _item(inquiry: _Inquiry, claim: LedgerClaim, decisions: Sequence[Decided]) -> Item:
    facts = _facts(inquiry, claim)
    verdict = judge(
        claim,
        facts,
        decisions,
        now=inquiry.parts.clock.now(),
        suspect_after_s=inquiry.claims.suspect_after_s,
    )
    return Item(claim, facts, verdict)


def _facts(inquiry: _Inquiry, claim: LedgerClaim) -> Facts:
    ticket, about_ticket = _ticket(inquiry, claim)
    local = _local(inquiry.reports, claim)
    branch, about_branch, committed = _branch(inquiry, claim, local)
    queued = bool(claim.pr) and inquiry.snapshot.candidate(claim.pr) is not None
    hosts = [
        f"{each.host} has {each.ahead} unpushed commits"
        + (" and uncommitted work" if each.dirty else "")
        for each in local
    ]
    about = (about_ticket, about_branch, *hosts, "in the queue" if queued else "not in the queue")
    return Facts(ticket, branch, local, queued, committed, about)


def _ticket(inquiry: _Inquiry, claim: LedgerClaim) -> tuple[Ticket, str]:
    number = ticket_of(claim.task, inquiry.lane.repo)
    if number is not None:
        try:
            issue = inquiry.parts.forge.issue(inquiry.lane.repo, number)
        except Missing:
            return Ticket.UNKNOWN, f"there is no ticket #{number}"
        state = Ticket.CLOSED if issue.closed else Ticket.OPEN
        return state, f"ticket #{number} is {state}"
    if not claim.pr:
        return Ticket.UNKNOWN, f"the task {claim.task} has no ticket and no pull request"
    pull = inquiry.pull(claim.pr)
    if pull is None:
        return Ticket.UNKNOWN, f"there is no pull request #{claim.pr}"
    state = Ticket.CLOSED if pull.closed else Ticket.OPEN
    return state, f"#{claim.pr} is {'merged' if pull.merged else state}"


def _local(reports: Sequence[HostReport], claim: LedgerClaim) -> tuple[Local, ...]:
    """Return the work on the claim's branch that hosts have and no remote does."""
    if not claim.branch:
        return ()
    return tuple(
        Local(report.host, tree.path, tree.head, tree.dirty, tree.ahead)
        for report in reports
        for tree in report.worktrees
        if tree.branch == claim.branch and (tree.dirty or tree.ahead)
    )


def _branch(
    inquiry: _Inquiry, claim: LedgerClaim, local: Sequence[Local]
) -> tuple[Branch, str, float]:
    if not claim.branch:
        return Branch.NONE, "it has no branch", 0.0
    head = (inquiry.branches or {}).get(claim.branch)
    if head is None:
        if any(each.ahead for each in local):
            return Branch.LOCAL, f"its branch is on {local[0].host} only", 0.0
        return Branch.NONE, "its branch is nowhere on the forge", 0.0
    if inquiry.tip is None:
        return Branch.UNKNOWN, "the trunk cannot be read", 0.0
    try:
        return _compared(inquiry.git, inquiry.tip, head)
    except (Unavailable, Refused) as error:
        return Branch.UNKNOWN, f"its branch cannot be compared: {error}", 0.0


def _compared(git: Git, tip: Sha, head: Sha) -> tuple[Branch, str, float]:
    git.bring([head])
    committed = git.committed_at(head)
    if git.is_ancestor(head, tip):
        return Branch.MERGED, f"its branch is merged at {short(head)}", committed
    replay = git.replay(ReplayRequest(tip, head, Method.REBASE, "audit", ""))
    if isinstance(replay, EmptyReplay):
        return Branch.EQUIVALENT, "everything on its branch is on the trunk", committed
    return Branch.AHEAD, f"its branch is ahead of the trunk at {short(head)}", committed


def choice_of(text: str) -> Choice:
    """Return the choice that a text names; raises Refused."""
    try:
        return Choice(text)
    except ValueError:
        raise Refused(f"a decision is push or abandon, not {text[:40]!r}") from None
