"""Watching the trunk: its tip, the rules it carries, and where a red one went bad."""

from dataclasses import replace

from mergebot.domain.candidate import Landing
from mergebot.domain.decision import Decision
from mergebot.domain.effects import PublishNotice
from mergebot.domain.external import demanded, judge
from mergebot.domain.health import heard_outside, tip_kept, tip_moved
from mergebot.domain.ids import Lane, Sha, short
from mergebot.domain.lane import Green, Halt, Red, Rules, UnknownHealth
from mergebot.domain.limits import CONFIG_BYTES_MAX, REWIND_SURE_S
from mergebot.domain.planning import CONFIG_PATHS
from mergebot.domain.policy import NoPolicy, Policy, PolicyFaults
from mergebot.ports.git import Git
from mergebot.ports.rules import RulesReader
from mergebot.services.branch_rules import branch_rules_of
from mergebot.services.contracting import looked_at_again
from mergebot.services.deciding import decide
from mergebot.services.parts import Parts
from mergebot.services.vouching import kept_green

KNOWN_LANDINGS = 10_000
"""Receipts of the record that are compared with those on git: all that it keeps."""


def consult(parts: Parts, lane: Lane) -> None:
    """Ask others' checks about a tip whose health was decided, where the rules want that."""
    snapshot = parts.store.read(lane)
    policy, health = snapshot.policy, snapshot.state.health
    if policy is None or not policy.asks_others_about_trunk or not isinstance(health, Green | Red):
        return
    tip = health.tip
    required = demanded(policy.gate.external, branch_rules_of(parts, lane))
    found = judge(required, parts.forge.checks(lane.repo, tip))
    decide(parts, lane, lambda decision: heard_outside(decision, tip, found))


def read_rules(git: Git, reader: RulesReader, commit: Sha) -> Rules:
    """Return the rules as of `commit`, or why there are none that can be used."""
    for path in CONFIG_PATHS:
        text = git.read(commit, path)
        if text is None:
            continue
        if len(text) > CONFIG_BYTES_MAX:
            fault = f"{path} has {len(text)} bytes; at most {CONFIG_BYTES_MAX} are allowed"
            return Rules(commit, PolicyFaults((fault,)))
        return Rules(commit, reader.parse(text))
    return Rules(commit, NoPolicy())


def observe(parts: Parts, git: Git, decision: Decision, tip: Sha) -> Decision:
    """Account for the trunk's tip as the remote shows it now; the tip is in the mirror."""
    snapshot = decision.snapshot
    known = snapshot.tip
    if any(isinstance(each.state, Landing) for each in snapshot.candidates):
        return decision
    if tip == known:
        return decision.lane(behind_since=0.0) if snapshot.state.behind_since else decision
    if known is not None and _may_be_older(git, known, tip):
        now, since = snapshot.now, snapshot.state.behind_since
        if not since:
            text = f"the forge shows {snapshot.lane.trunk} as it was before {short(known)}"
            return decision.lane(behind_since=now).tell("trunk", f"{text}; it is looked at again")
        if now - since < REWIND_SURE_S:
            return decision
    if known is not None and lost_landings(parts, git, snapshot.lane, (known, tip)):
        text = "the trunk holds landings that the record does not know: the queue is rebuilt"
        return decision.lane(recovering=True).tell("recovering", text)
    return take_tip(parts, git, decision, tip)


def _may_be_older(git: Git, known: Sha, tip: Sha) -> bool:
    """Tell whether `tip` may be what a replica that lags still shows, rather than a rewound trunk."""
    return not git.has(known) or git.is_ancestor(tip, known)


def lost_landings(parts: Parts, git: Git, lane: Lane, between: tuple[Sha, Sha]) -> bool:
    """Tell whether a commit after the first of `between` has a receipt that the record lost.

    That is so where Redis lost its last writes, such as the one after a landing.
    """
    known, tip = between
    if not git.has(known):
        return False
    receipts = git.receipts()
    found = [receipts[each] for each in git.first_parents(known, tip) if each in receipts]
    if not found:
        return False
    recorded = {each.digest for each in parts.store.landings(lane, limit=KNOWN_LANDINGS)}
    return any(each.digest not in recorded for each in found)


def take_tip(parts: Parts, git: Git, decision: Decision, tip: Sha) -> Decision:
    """Account for a tip that is not the known one, and take its rules into force."""
    known = decision.snapshot.tip
    decision = decision.lane(behind_since=0.0)
    if known is None:
        decision = tip_moved(decision, tip, "first look at the trunk")
    elif git.has(known) and git.is_ancestor(known, tip):
        decision = tip_moved(decision, tip, "somebody pushed to the trunk")
    else:
        decision = _rewound(tip_moved(decision, tip, "the trunk was rewritten"), known, tip)
    return with_rules(parts, git, decision, tip)


def with_rules(parts: Parts, git: Git, decision: Decision, tip: Sha) -> Decision:
    """Take the rules that `tip` carries into force, also for what waits for contracts."""
    rules = read_rules(git, parts.rules, tip)
    known = decision.snapshot.state.rules
    before, broken = known.policy, isinstance(rules.policy, PolicyFaults)
    since = known.since if isinstance(before, PolicyFaults) else decision.snapshot.now
    rules = replace(rules, since=since if broken else 0.0)
    decision = looked_at_again(parts, git, decision.lane(rules=rules))
    if broken is not isinstance(before, PolicyFaults):
        # Everybody who waits is told once, that nothing moves and that it does again.
        open_ones = decision.snapshot.candidates
        decision = decision.want(*(PublishNotice(each.pr, each.attempt) for each in open_ones))
    if rules.policy == before or isinstance(rules.policy, Policy):
        return decision
    text = "the trunk has no .mergebot.toml"
    if isinstance(rules.policy, PolicyFaults):
        text = "the rules on the trunk are broken: " + "; ".join(rules.policy.faults)
    return decision.tell("rules", text)


def known_green(parts: Parts, git: Git, decision: Decision, tip: Sha) -> Decision | None:
    """Take a new tip for green whose tree passed the same gate before; None where none did.

    One whose gate gave no verdict is gated again in any case.
    """
    policy, health = decision.snapshot.policy, decision.snapshot.state.health
    if policy is None or not isinstance(health, UnknownHealth) or health.tries:
        return None
    kept = kept_green(parts, decision.snapshot.lane, git.tree(tip), policy.trunk_gate)
    return tip_kept(decision, tip, kept.tested) if kept else None


def locate(git: Git, decision: Decision) -> Decision:
    """Find the commits among which the first bad one must be, once the trunk is red."""
    snapshot = decision.snapshot
    health = snapshot.state.health
    if not isinstance(health, Red) or health.suspects or not git.has(health.tip):
        return decision
    for green in reversed(snapshot.state.greens):
        if git.has(green) and green != health.tip and git.is_ancestor(green, health.tip):
            suspects = tuple(git.first_parents(green, health.tip))
            return decision.lane(health=replace(health, last_green=green, suspects=suspects))
    return decision.lane(health=replace(health, suspects=(health.tip,)))


def _rewound(decision: Decision, known: Sha, tip: Sha) -> Decision:
    text = f"the trunk's tip {short(tip)} does not descend from {short(known)}: it was rewritten"
    halt = Halt(text, decision.snapshot.now, "mergebot", "somebody resumes after looking at it")
    return decision.halt(halt, text)
