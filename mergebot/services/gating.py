"""Gating on any host: where the commits of a gate come from, and who hears that it ended."""

from dataclasses import dataclass

import structlog

from mergebot.domain.candidate import Candidate, Merge, merge_of
from mergebot.domain.ids import Lane, Sha, short
from mergebot.domain.lane import RunOrder, Snapshot
from mergebot.domain.policy import Policy
from mergebot.ports.errors import Unavailable
from mergebot.ports.git import Git, Replayed
from mergebot.services.gatekeeper import Gatekeeper, Source
from mergebot.services.parts import Parts
from mergebot.services.preparing import request_for
from mergebot.services.repositories import git_of

log = structlog.get_logger()


def gate(parts: Parts, keeper: Gatekeeper, lane: Lane, run: str) -> None:
    """Run the gate `run` on this host, and ring for the decision that follows from its result.

    Raises Unavailable and Refused; the run is then found untaken or silent, and ordered anew.
    """
    snapshot = parts.store.read(lane)
    if snapshot.tip is None:
        log.info("gate_without_trunk", run=run)
        return
    git = git_of(parts, lane)
    chain = _Chain(git, snapshot)
    if not git.has(snapshot.tip):
        git.fetch(lane.trunk, [])
    if keeper.gate(lane, run, Source(git, chain.rebuild, setup_from=snapshot.tip)):
        parts.doorbell.tick(lane)


@dataclass(frozen=True, slots=True)
class _Chain:
    """Makes merged commits again on a host that did not prepare them.

    Replays are reproducible, so the same heads give the same commits; a base that is itself the
    merged commit of the candidate ahead is made first.
    """

    git: Git
    snapshot: Snapshot

    def rebuild(self, order: RunOrder) -> Sha:
        """Return the commit that the order's replay gives here."""
        lane = self.snapshot.lane
        open_pulls = [each.pr for each in self.snapshot.candidates]
        self.git.fetch(lane.trunk, open_pulls if order.pr else [])
        if self.git.has(order.merged):
            return order.merged
        candidate = self.snapshot.candidate(order.pr)
        policy = self.snapshot.policy
        if candidate is None or policy is None:
            raise Unavailable(f"{short(order.merged)} is not to be had any more")
        self._bring_base(order.base, policy, left=len(self.snapshot.candidates))
        return self._replay(candidate, policy, order.base)

    def _bring_base(self, base: Sha, policy: Policy, *, left: int) -> None:
        if self.git.has(base):
            return
        ahead = next(
            (
                (each, merge)
                for each in self.snapshot.candidates
                if (merge := merge_of(each.state)) is not None and merge.merged == base
            ),
            None,
        )
        if ahead is None or left <= 0:
            raise Unavailable(f"the base {short(base)} is not to be had any more")
        candidate, merge = ahead
        self._bring_base(merge.base, policy, left=left - 1)
        self._check(self._replay(candidate, policy, merge.base), merge)

    def _replay(self, candidate: Candidate, policy: Policy, base: Sha) -> Sha:
        replay = self.git.replay(request_for(candidate, policy, base))
        if not isinstance(replay, Replayed):
            raise Unavailable(f"#{candidate.pr} did not replay on {short(base)} here")
        return replay.merge.merged

    def _check(self, made: Sha, recorded: Merge) -> None:
        if made != recorded.merged:
            raise Unavailable(
                f"this host replays to {short(made)} what was recorded as {short(recorded.merged)}"
            )
