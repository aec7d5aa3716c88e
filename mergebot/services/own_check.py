"""The bot's own check on the commit that lands, where the trunk's rules require it there.

The commit must be on the forge before anything can be said about it, so it is kept at the
candidate's ref until the pull request closes.
"""

from mergebot.domain.candidate import Candidate, Verified
from mergebot.domain.ids import Lane
from mergebot.ports.forge import CheckReport, CheckState
from mergebot.ports.git import Git
from mergebot.services.branch_rules import branch_rules_of
from mergebot.services.parts import Parts


def show_own_check(parts: Parts, git: Git, lane: Lane, last: Candidate) -> None:
    """Say that the gate is green on what is about to land; raises Unavailable, Refused."""
    verified = last.state
    if not isinstance(verified, Verified) or not branch_rules_of(parts, lane).wants_own_check:
        return
    merged = verified.merge.merged
    git.keep_candidate(last.pr, merged)
    text = "the gate is green on exactly this commit"
    parts.forge.report(lane.repo, CheckReport(merged, CheckState.SUCCESS, text, text, ""))
