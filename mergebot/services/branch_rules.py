"""What the forge demands of a lane's trunk, remembered for two minutes to spare requests."""

import threading
from dataclasses import replace

import structlog

from mergebot.domain.branch_rules import BranchRules, unlandable, unverified
from mergebot.domain.ids import Lane
from mergebot.domain.policy import Method, Policy
from mergebot.ports.errors import Refused
from mergebot.services.parts import Parts

log = structlog.get_logger()

KEEP_S = 120.0

_lock = threading.Lock()
_known: dict[tuple[int, str], tuple[float, BranchRules]] = {}


def branch_rules_of(parts: Parts, lane: Lane) -> BranchRules:
    """Return the rules that bind the bot on the trunk; raises Unavailable.

    Where the forge does not let the bot read them there are none to know of: the push would be
    refused by the forge itself.
    """
    key = (id(parts.forge), lane.key)
    now = parts.clock.now()
    with _lock:
        at, known = _known.get(key, (-KEEP_S, BranchRules()))
    if now - at < KEEP_S:
        return known
    try:
        fresh = parts.forge.branch_rules(lane.repo, lane.trunk)
    except Refused as error:
        log.info("branch_rules_unread", lane=lane.repo, why=str(error))
        fresh = BranchRules()
    with _lock:
        _known[key] = (now, fresh)
    return fresh


def forget_branch_rules(parts: Parts, lane: Lane) -> None:
    """Read the rules again next time: a push was refused, or an operator changed them."""
    with _lock:
        _known.pop((id(parts.forge), lane.key), None)


def cannot_land(parts: Parts, lane: Lane, policy: Policy | None, *, pr: int) -> str:
    """Return why the trunk's rules let a PR not land, "" where they do; raises Unavailable, Refused."""
    if policy is None:
        return ""
    rules = branch_rules_of(parts, lane)
    return unlandable(satisfied(parts, rules), policy) or _unverified(parts, lane, policy, pr=pr)


def satisfied(parts: Parts, rules: BranchRules) -> BranchRules:
    """Return the rules without what the bot's own signatures satisfy."""
    return replace(rules, signatures="") if parts.signs_commits else rules


def _unverified(parts: Parts, lane: Lane, policy: Policy, *, pr: int) -> str:
    rules = branch_rules_of(parts, lane)
    if not (rules.signatures and parts.signs_commits) or policy.queue.method is Method.SQUASH:
        return ""
    return unverified(rules, policy, parts.forge.signatures(lane.repo, pr))
