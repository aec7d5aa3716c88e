"""Commits that another host made or fetched, made or fetched again on this one.

Replays are reproducible, so the same heads give the same commits everywhere; a base that is itself
the merged commit of a candidate ahead is made first.
"""

from dataclasses import dataclass

from mergebot.domain.candidate import Candidate, Failing, Merge, Question, Trial, merge_of
from mergebot.domain.ids import Sha, short
from mergebot.domain.lane import RunOrder, Snapshot
from mergebot.domain.policy import Policy
from mergebot.ports.errors import Unavailable
from mergebot.ports.git import Git, Replayed, ReplayRequest


def request_for(candidate: Candidate, policy: Policy, base: Sha) -> ReplayRequest:
    """Return how the candidate is replayed; the same wherever and whenever it is asked for."""
    subject = f"{candidate.proposal.title} (#{candidate.pr})"
    return ReplayRequest(
        base,
        candidate.head,
        policy.queue.method,
        subject,
        candidate.proposal.body,
        candidate.proposal.since,
    )


def bring_tip(git: Git, snapshot: Snapshot) -> None:
    """Fetch the trunk where another host saw its tip first; raises Unavailable."""
    if snapshot.tip is not None and not git.has(snapshot.tip):
        git.fetch(snapshot.lane.trunk, [])


@dataclass(frozen=True, slots=True)
class Chain:
    """The merged commits that the record speaks of, for a host that did not prepare them."""

    git: Git
    snapshot: Snapshot

    def rebuild(self, order: RunOrder) -> Sha:
        """Return the commit that the order is about, made here; raises Unavailable."""
        candidate = next(
            (each for each in self.snapshot.candidates if self._tries(each, order)), None
        )
        policy = self.snapshot.policy
        if candidate is None or policy is None or self.git.has(order.merged):
            self.bring(order.merged)
            return order.merged
        if not (self.git.has(order.head) and self.git.has(order.base)):
            self.git.fetch(self.snapshot.lane.trunk, [order.pr])
        return self._replay(candidate, policy, order.base)

    @staticmethod
    def _tries(candidate: Candidate, order: RunOrder) -> bool:
        """Tell whether the order is for finding out with which landing this candidate clashes."""
        match candidate.state:
            case Failing(judging=Trial(doubt, run)):
                return run == order.run and doubt.question is Question.AMONG
            case _:
                return False

    def bring(self, commit: Sha) -> None:
        """Make a commit be here; raises Unavailable where nobody can make it any more."""
        if self.git.has(commit):
            return
        heads = [each.pr for each in self.snapshot.candidates if not self.git.has(each.head)]
        self.git.fetch(self.snapshot.lane.trunk, heads)
        policy = self.snapshot.policy
        if policy is None:
            raise Unavailable(f"{short(commit)} is not to be had any more")
        self._bring(commit, policy, left=len(self.snapshot.candidates))

    def _bring(self, commit: Sha, policy: Policy, *, left: int) -> None:
        if self.git.has(commit):
            return
        made = next(
            (
                (each, merge)
                for each in self.snapshot.candidates
                for merge in (merge_of(each.state), *(hedge.merge for hedge in each.hedges))
                if merge is not None and merge.merged == commit
            ),
            None,
        )
        if made is None or left <= 0:
            raise Unavailable(f"{short(commit)} is not to be had any more")
        candidate, merge = made
        self._bring(merge.base, policy, left=left - 1)
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
