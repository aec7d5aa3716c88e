"""Rebuilding a lane's record from what outlives Redis: receipts in git notes, labels, open PRs.

    receipts -> landed, greens, the chain, generations -> the tip and its rules
             -> labelled PRs in the order of their labels -> the recovery ends

A lane is born recovering, so a lost record and a new lane are one case. Until the end nothing is
gated and nothing lands; whatever interrupts a rebuild, the next one goes on from what it wrote.
"""

from collections.abc import Sequence

import structlog

from mergebot.domain.decision import Decision
from mergebot.domain.halting import read_halt
from mergebot.domain.ids import Lane, Sha
from mergebot.domain.limits import LAST_WRITES
from mergebot.domain.recovery import Past, PastLanding, finish, past_of, read_landing, rebuild
from mergebot.ports.errors import Refused, Unavailable
from mergebot.ports.git import Git
from mergebot.ports.leases import lane_lease
from mergebot.services.deciding import decide
from mergebot.services.halting import taken_back
from mergebot.services.labelling import admit_labelled
from mergebot.services.parts import Parts
from mergebot.services.repositories import git_of
from mergebot.services.trunk import KNOWN_LANDINGS, take_tip

log = structlog.get_logger()

CHUNK = 500
"""Landings in one commit: Redis does nothing else meanwhile."""


def recover(parts: Parts, lane: Lane) -> bool:
    """Rebuild the lane's record where it is recovering, and tell whether it was.

    Raises Unavailable and Refused, with the lane still recovering.
    """
    if not parts.store.read(lane).state.recovering:
        return False
    git = git_of(parts, lane)
    tip = git.fetch(lane.trunk, []).trunk
    if tip is None:
        raise Refused(f"{lane.repo} has no branch {lane.trunk}, so nothing can land there")
    past = _past(git, lane, tip)
    halted = read_halt(git.halt())
    parts.leases.raise_to(lane_lease(lane), past.generation)
    missing = _described(parts, lane, git, _missing(parts, lane, past))
    for start in range(0, max(len(missing), 1), CHUNK):
        _rebuild(parts, lane, past, missing[start : start + CHUNK])
    _look(parts, lane, git, tip)
    kept = len(parts.store.read(lane).candidates)
    admit_labelled(parts, lane, parts.forge.open_pulls(lane.repo))

    def end(decision: Decision) -> Decision:
        if not decision.snapshot.state.recovering:
            return decision
        return taken_back(finish(decision, past, landed=len(missing), kept=kept), halted)

    ended = decide(parts, lane, end)
    log.info("recovered", lane=lane.repo, landed=len(missing), open=len(ended.candidates))
    parts.doorbell.tick(lane)
    return True


def _past(git: Git, lane: Lane, tip: Sha) -> Past:
    read = [read_landing(lane, commit, receipt) for commit, receipt in git.receipts().items()]
    landings = [each for each in read if each is not None]
    if not landings:
        return Past()
    oldest = min(landings, key=lambda each: (each.at, each.generation)).merge.base
    return past_of(landings, git.first_parents(oldest, tip) if git.has(oldest) else [])


def _missing(parts: Parts, lane: Lane, past: Past) -> list[PastLanding]:
    known = {each.digest for each in parts.store.landings(lane, limit=KNOWN_LANDINGS)}
    unknown = [each for each in past.landings if each.receipt.digest not in known]
    return unknown[-KNOWN_LANDINGS:]


def _described(
    parts: Parts, lane: Lane, git: Git, landings: Sequence[PastLanding]
) -> list[PastLanding]:
    """Give landings their titles; the newest, which are told anew, all that the forge shows."""
    older, newer = landings[:-LAST_WRITES], landings[-LAST_WRITES:]
    titled = [_titled(git, each) for each in older]
    return [*titled, *(_shown(parts, lane, git, each) for each in newer)]


def _titled(git: Git, landing: PastLanding) -> PastLanding:
    merged = landing.merge.merged
    return landing.titled(git.subject(merged)) if git.has(merged) else landing


def _shown(parts: Parts, lane: Lane, git: Git, landing: PastLanding) -> PastLanding:
    try:
        pull = parts.forge.pull(lane.repo, landing.candidate.pr)
    except (Unavailable, Refused) as error:
        log.info("landing_undescribed", pr=landing.candidate.pr, why=str(error))
        return _titled(git, landing)
    return landing.shown_as(pull, lane.repo)


def _rebuild(parts: Parts, lane: Lane, past: Past, chunk: Sequence[PastLanding]) -> None:
    def rule(decision: Decision) -> Decision:
        if not decision.snapshot.state.recovering:
            return decision
        known = {each.digest for each in parts.store.landings(lane, limit=KNOWN_LANDINGS)}
        return rebuild(decision, past, [x for x in chunk if x.receipt.digest not in known])

    decide(parts, lane, rule)


def _look(parts: Parts, lane: Lane, git: Git, tip: Sha) -> None:
    def rule(decision: Decision) -> Decision:
        recovering = decision.snapshot.state.recovering
        if not recovering or decision.snapshot.tip == tip:
            return decision
        return take_tip(parts, git, decision, tip)

    decide(parts, lane, rule)
