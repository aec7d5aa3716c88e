"""The scope check before a change is queued: in its author's checkout, by the trunk's rules."""

from dataclasses import dataclass

from mergebot.domain.candidate import Claim, NoClaim
from mergebot.domain.claims import ClaimBlock, ClaimFaults, NoBlock, parse_claim_block
from mergebot.domain.ids import Sha
from mergebot.domain.policy import ClaimPolicy, NoPolicy, Policy, PolicyFaults
from mergebot.domain.reasons import Reason
from mergebot.domain.scope import (
    Allowed,
    Enqueuer,
    Inside,
    Outside,
    Touched,
    check_scope,
    links_to_read,
)
from mergebot.ports.git import Git
from mergebot.ports.rules import RulesReader
from mergebot.services.trunk import read_rules


@dataclass(frozen=True, slots=True)
class Change:
    """A head, the trunk commit whose rules count, and where the two parted."""

    base: Sha
    fork_point: Sha
    head: Sha
    body: str
    enqueuer: Enqueuer


def early_scope(git: Git, rules: RulesReader, change: Change) -> Inside | Outside:
    """Return whether the change touches only what its claim covers, by the rules at its base."""
    policy = read_rules(git, rules, change.base).policy
    if isinstance(policy, PolicyFaults):
        return Outside(Reason.INVALID_CONFIG, (), policy.faults)
    claim = parse_claim_block(change.body)
    if isinstance(claim, ClaimFaults):
        return Outside(Reason.CLAIM_MISSING, (), claim.faults)
    changes = git.changes(change.fork_point, change.head)
    touched = Touched(
        changes=changes,
        author_changes=changes,
        twins=git.twins(change.head, change.fork_point),
        targets={
            each.path: git.blob(each.new_id).decode("utf-8", "surrogateescape")
            for each in links_to_read(changes)
        },
    )
    return check_scope(touched, Allowed(_claim(claim), _claims(policy), change.enqueuer))


def _claim(block: ClaimBlock | NoBlock) -> Claim | NoClaim:
    if isinstance(block, NoBlock):
        return NoClaim()
    return Claim("early", block.task, block.patterns, block.assumes)


def _claims(policy: Policy | NoPolicy) -> ClaimPolicy:
    return policy.claims if isinstance(policy, Policy) else ClaimPolicy()
