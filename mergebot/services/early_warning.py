"""Looking at a pull request before anybody queues it: what is in its way, said once, early."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from mergebot.domain.candidate import Candidate, Claim, NoClaim, merge_of
from mergebot.domain.claims import ClaimBlock, ClaimFaults, parse_claim_block
from mergebot.domain.decision import Decision
from mergebot.domain.early import Clash, Early, Holder, Shared
from mergebot.domain.effects import LookEarly, PublishNotice
from mergebot.domain.ids import Lane, Sha
from mergebot.domain.lane import Snapshot
from mergebot.domain.ledger import LedgerClaim, Taken
from mergebot.domain.names import render_path
from mergebot.domain.planning import in_order
from mergebot.domain.policy import ClaimPolicy
from mergebot.domain.pulls import Permission, PullRequest
from mergebot.domain.reasons import Reason
from mergebot.domain.scope import (
    Allowed,
    Enqueuer,
    Outside,
    Touched,
    check_scope,
    links_to_read,
)
from mergebot.ports.errors import Missing
from mergebot.ports.git import Conflicted, Git, Replayed, ReplayRequest
from mergebot.services.contracting import Change, judged, sentence_of
from mergebot.services.deciding import decide
from mergebot.services.parts import Parts
from mergebot.services.pinning import written_claim
from mergebot.services.regranting import claim_of_pull
from mergebot.services.repositories import git_of

log = structlog.get_logger()

SHARED_MAX = 20
"""Pull requests that a warning names: the nearest by number, more than anybody follows up."""

PATHS_KEPT = 2_000
"""Paths of one pull request that are compared with those of others."""


@dataclass(frozen=True, slots=True)
class _Scene:
    """What one look rests on."""

    parts: Parts
    git: Git
    snapshot: Snapshot
    pull: PullRequest
    base: Sha
    permission: Permission

    @property
    def lane(self) -> Lane:
        """Return the lane."""
        return self.snapshot.lane

    @property
    def claims(self) -> ClaimPolicy:
        """Return the rules on claims in force."""
        return self.snapshot.policy.claims if self.snapshot.policy else ClaimPolicy()


def want_look(parts: Parts, lane: Lane, *numbers: int) -> None:
    """Ask for pull requests to be looked at, by whoever publishes: admissions do not wait for it."""
    looks = [LookEarly(number) for number in numbers]
    decide(parts, lane, lambda decision: decision.want(*looks) if looks else decision)


def look_early(parts: Parts, lane: Lane, number: int) -> None:
    """Look at a pull request as it is now, claim what its block asks for, and say what is amiss.

    Its comment is written only where there is something to say. Raises Unavailable, Refused.
    """
    try:
        pull = parts.forge.pull(lane.repo, number)
    except Missing:
        log.info("pull_missing", lane=lane.repo, pr=number)
        return
    snapshot = parts.store.read(lane)
    if pull.closed or pull.base != lane.trunk or snapshot.state.recovering:
        return
    git = git_of(parts, lane)
    heads = git.fetch(lane.trunk, [number])
    if heads.trunk is None or heads.head != pull.head:
        return
    fork = git.fork_point(heads.trunk, pull.head)
    if fork is None:
        return
    permission = parts.forge.permission(lane.repo, pull.author)
    scene = _Scene(parts, git, snapshot, pull, heads.trunk, permission)
    before = next((each for each in parts.ledger.early(lane) if each.pr == number), None)
    said = before is not None and (before.said or before.warns)
    early = replace(examined(scene, fork), said=said)
    parts.ledger.keep_early(lane, early)
    if early.worth_saying:
        decide(parts, lane, lambda decision: _told(decision, number))


def _told(decision: Decision, number: int) -> Decision:
    return decision.want(PublishNotice(number, 0))


def examined(scene: _Scene, fork: Sha) -> Early:
    """Return everything that is known of the pull request now."""
    pull, parts = scene.pull, scene.parts
    block = parse_claim_block(pull.body)
    may = scene.permission >= Permission.WRITE
    found = claim_of_pull(parts, scene.lane, pull) if may else None
    claim = written_claim(parts, scene.lane, pull, NoClaim())
    own = parts.ledger.read(scene.lane).of_pull(pull.number)
    changes = scene.git.changes(fork, pull.head)
    paths = tuple(change.path for change in changes)[:PATHS_KEPT]
    outside = _outside(scene, fork, claim)
    return Early(
        pr=pull.number,
        head=pull.head,
        branch=pull.head_branch,
        at=parts.clock.now(),
        paths=paths,
        claimed=claim.patterns if isinstance(claim, Claim) else (),
        claim=own.id if own else "",
        faults=block.faults if isinstance(block, ClaimFaults) else (),
        strays=outside.details if outside else (),
        outside=_extending(outside),
        holders=tuple(map(_holder, found.holders)) if isinstance(found, Taken) else (),
        shared=_shared(scene, paths),
        clashes=_clashes(scene),
        contracts=_contracts(scene, paths, block.assumes if isinstance(block, ClaimBlock) else ()),
    )


def _extending(outside: Outside | None) -> tuple[str, ...]:
    if outside is None or outside.reason is not Reason.OUT_OF_SCOPE:
        return ()
    return outside.strayed


def _holder(claim: LedgerClaim) -> Holder:
    return Holder(claim.id, claim.task, claim.owner, claim.every, claim.claimed_at, claim.pr)


def _outside(scene: _Scene, fork: Sha, claim: Claim | NoClaim) -> Outside | None:
    git, pull = scene.git, scene.pull
    changes = git.changes(fork, pull.head)
    touched = Touched(
        changes=changes,
        author_changes=changes,
        twins=git.twins(pull.head, fork),
        targets={
            each.path: git.blob(each.new_id).decode("utf-8", "surrogateescape")
            for each in links_to_read(changes)
        },
    )
    enqueuer = Enqueuer.ADMIN if scene.permission >= Permission.ADMIN else Enqueuer.MEMBER
    verdict = check_scope(touched, Allowed(claim, scene.claims, enqueuer))
    return verdict if isinstance(verdict, Outside) else None


def _shared(scene: _Scene, paths: Sequence[str]) -> tuple[Shared, ...]:
    """Return the other open pull requests that change some of the same files."""
    mine = set(paths)
    found = []
    for other in scene.parts.ledger.early(scene.lane):
        both = tuple(path for path in other.paths if path in mine)
        if other.pr != scene.pull.number and both:
            found.append(Shared(other.pr, tuple(map(render_path, both[:5]))))
    return tuple(found[:SHARED_MAX])


def _clashes(scene: _Scene) -> tuple[Clash, ...]:
    """Return what the change does not merge with: the trunk, else those queued before it."""
    on_trunk = _conflict(scene, scene.base)
    if on_trunk:
        return (Clash(0, tuple(map(render_path, on_trunk))),)
    queued = [each for each in in_order(scene.snapshot) if each.pr != scene.pull.number]
    chain = [(each, merge) for each in queued if (merge := merge_of(each.state)) is not None]
    known = [(each, merge.merged) for each, merge in chain if scene.git.has(merge.merged)]
    if not known:
        return ()
    paths = _conflict(scene, known[-1][1])
    return tuple(
        Clash(each.pr, tuple(map(render_path, hit)))
        for each, _ in known
        if (hit := _touched_by(each, paths))
    )


def _touched_by(candidate: Candidate, paths: Sequence[str]) -> tuple[str, ...]:
    merge = merge_of(candidate.state)
    return tuple(path for path in paths if merge is not None and path in merge.paths)


def _conflict(scene: _Scene, base: Sha) -> tuple[str, ...]:
    policy = scene.snapshot.policy
    if policy is None:
        return ()
    pull = scene.pull
    request = ReplayRequest(base, pull.head, policy.queue.method, pull.title, pull.body)
    replay = scene.git.replay(request)
    return replay.paths if isinstance(replay, Conflicted) else ()


def _contracts(scene: _Scene, paths: Sequence[str], assumes: tuple[str, ...]) -> tuple[str, ...]:
    policy, pull = scene.snapshot.policy, scene.pull
    if policy is None or not policy.contracts:
        return ()
    request = ReplayRequest(scene.base, pull.head, policy.queue.method, pull.title, pull.body)
    replay = scene.git.replay(request)
    if not isinstance(replay, Replayed):
        return ()
    change = Change(
        pr=pull.number,
        head=pull.head,
        author=pull.author.login,
        assumes=assumes,
        base=scene.base,
        merged=replay.merge.merged,
        paths=tuple(paths),
    )
    text = sentence_of(judged(scene.parts, scene.git, scene.lane, policy, change))
    return (text,) if text else ()
