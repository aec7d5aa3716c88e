"""A doctor's look at how the forge is set up for the bot on one repository.

Nothing is changed; only deliveries that failed are asked for again, which changes nothing either
where they came after all.
"""

import re
from collections.abc import Iterator
from contextlib import suppress

from mergebot.domain.branch_rules import BranchRules, unlandable
from mergebot.domain.external import awaited_from, demanded
from mergebot.domain.ids import Lane, short
from mergebot.domain.policy import NoPolicy, Policy, PolicyFaults
from mergebot.domain.pulls import Permission
from mergebot.domain.wording import listed
from mergebot.ports.checkup import Checkup, Webhook
from mergebot.ports.errors import Refused
from mergebot.ports.sandbox import Sandbox
from mergebot.services.admitting import queue_policy
from mergebot.services.branch_rules import satisfied
from mergebot.services.findings import Finding
from mergebot.services.parts import Parts
from mergebot.services.repositories import repository_of
from mergebot.services.trunk import read_rules

EVENTS = ("pull_request", "push", "issue_comment", "pull_request_review")
REDELIVERED_MAX = 50
"""Of one doctor's visit: each is a write, of which the forge allows eighty in a minute."""

CLOCK_S = 30.0
"""Half of what an App's own token allows for."""


def clock(checkup: Checkup) -> Finding:
    """Return how this host's clock stands to the forge's; raises Unavailable, Refused."""
    ahead_s = checkup.clock_ahead_s()
    if abs(ahead_s) <= CLOCK_S:
        return Finding("clock", "it agrees with the forge's")
    way = "ahead of" if ahead_s > 0 else "behind"
    text = f"it is {abs(ahead_s):.0f} s {way} the forge's"
    return Finding("clock", text, "let this host keep time by NTP: an App's tokens depend on it")


def commit_key(checkup: Checkup, line: str, email: str, *, login: str) -> Finding:
    """Return whether the account of `email`, else `login`, knows the key that signs commits.

    Raises Unavailable, Refused.
    """
    owner = _NOREPLY.match(email)
    login = owner["login"] if owner else login
    if line in checkup.signing_keys(login):
        return Finding("commit key", f"{login} knows it; commits are made by {email}")
    advice = f"add it to {login} as a signing key: {line}"
    return Finding("commit key", f"the account {login} does not know it", advice)


_NOREPLY = re.compile(r"(?:\d+\+)?(?P<login>[A-Za-z0-9-]+)@users\.noreply\.")


def examine(parts: Parts, checkup: Checkup, repo: str, *, sandbox: Sandbox) -> Iterator[Finding]:
    """Yield what is found about one repository; raises Unavailable, Refused.

    `sandbox` is what its gates would run in on this host.
    """
    if not checkup.by_app:
        yield _permission(parts, repo)
    yield from _lack(checkup, repo)
    lane = _lane(parts, repo)
    policy, finding = _rules(parts, lane)
    yield finding
    rules = parts.forge.branch_rules(repo, lane.trunk)
    if policy is not None:
        yield from _image(lane, policy, sandbox)
        yield _landable(lane, satisfied(parts, rules), policy)
        yield from _producers(lane, rules, policy)
    yield _guard(checkup, lane, rules)
    yield from _labels(parts, checkup, repo)
    yield _webhook(parts, checkup, repo)


def _permission(parts: Parts, repo: str) -> Finding:
    permission = parts.forge.permission(repo, parts.forge.me())
    has = f"the bot has {permission.name.lower()} permission"
    needs = "" if permission >= Permission.WRITE else "give it write permission, or more"
    return Finding(f"{repo}: permission", has, needs)


def _lane(parts: Parts, repo: str) -> Lane:
    repository = repository_of(parts, repo)
    known = next((each for each in parts.store.lanes() if each.repo_id == repository.id), None)
    return known or Lane(repository.id, repo, repository.default_branch)


def _lack(checkup: Checkup, repo: str) -> Iterator[Finding]:
    lack = checkup.lack(repo)
    about = f"{repo}: what the bot was given"
    if lack.needed:
        advice = "grant it, and accept the change where the App is installed"
        yield Finding(about, f"it lacks {listed(lack.needed)}", advice)
    if lack.useful:
        yield Finding(about, f"it lacks {listed(lack.useful)}", hint=_USEFUL)
    if not (lack.needed or lack.useful):
        yield Finding(about, "nothing is missing, as far as the forge tells")


_USEFUL = "without it, changes of workflow files are refused, or branch protection is not seen"


def _rules(parts: Parts, lane: Lane) -> tuple[Policy | None, Finding]:
    about = f"{lane.repo}: .mergebot.toml"
    git = parts.mirrors.of(repository_of(parts, lane.repo))
    tip = git.fetch(lane.trunk, []).trunk
    if tip is None:
        return None, Finding(about, f"there is no branch {lane.trunk}", "push a first commit there")
    match read_rules(git, parts.rules, tip).policy:
        case Policy() as policy:
            steps = listed(tuple(step.name for step in policy.gate.steps)) or "external checks"
            text = f"valid on {lane.trunk} at {short(tip)}; the gate is {steps}"
            return policy, Finding(about, text)
        case PolicyFaults(faults):
            return None, Finding(about, " ".join(faults), "repair it; until then nothing lands")
        case NoPolicy():
            return None, Finding(
                about, f"there is none on {lane.trunk}", "add one: `mergebot init`"
            )


def _image(lane: Lane, policy: Policy, sandbox: Sandbox) -> Iterator[Finding]:
    """Tell whether gates find here what the rules want them to run in."""
    about, image = f"{lane.repo}: image", policy.gate.image
    trouble = sandbox.check(image) if policy.gate.steps else ""
    if trouble:
        yield Finding(about, trouble, "until then a gate on this host halts the queue")
    elif policy.gate.image_moves:
        hint = "a tag may move, so no result is reused: name it by its digest"
        yield Finding(about, f"{image} is here and starts", hint=hint)
    elif image:
        yield Finding(about, f"{image} is here and starts")


def _landable(lane: Lane, rules: BranchRules, policy: Policy) -> Finding:
    about = f"{lane.repo}: branch rules"
    why = unlandable(rules, policy)
    if why:
        return Finding(about, why, "until then every change is refused")
    return Finding(about, f"a landing satisfies all that binds the bot on {lane.trunk}")


def _producers(lane: Lane, rules: BranchRules, policy: Policy) -> Iterator[Finding]:
    required = demanded(policy.gate.external, rules)
    for name in required.checks:
        about = f"{lane.repo}: the check {name}"
        awaited = awaited_from(required, name)
        if awaited:
            yield Finding(about, f"it is awaited from {awaited}")
        else:
            hint = "name who does under [gate.external], as producers (docs/github.md)"
            yield Finding(about, "anybody who may write statuses can report it", hint=hint)


def _guard(checkup: Checkup, lane: Lane, rules: BranchRules) -> Finding:
    about = f"{lane.repo}: who else may land"
    if rules.guarded:
        return Finding(about, f"{rules.guarded} keeps others from updating {lane.trunk}")
    buttons = tuple(checkup.buttons(lane.repo))
    by_button = f", by push and by {listed(buttons)} button" if buttons else ", by push"
    text = f"whoever may write can update {lane.trunk}{by_button}"
    hint = (
        f"add a ruleset on {lane.trunk} that restricts updates, with mergebot on its bypass list "
        "and the mode “always allow”"
    )
    return Finding(about, text, hint=hint)


def _labels(parts: Parts, checkup: Checkup, repo: str) -> Iterator[Finding]:
    lane = parts.store.lane(repo)
    queue = queue_policy(parts.store.read(lane)) if lane else None
    wanted = (queue.label, queue.fix_label, queue.hold_label) if queue else ()
    there = {name.casefold() for name in checkup.labels(repo)}
    missing = tuple(name for name in wanted if name.casefold() not in there)
    if missing:
        advice = "create them, or let the first use do so where the forge allows that"
        yield Finding(f"{repo}: labels", f"there is no label {listed(missing)}", advice)
    elif wanted:
        yield Finding(f"{repo}: labels", f"{listed(wanted)} are there")


def _webhook(parts: Parts, checkup: Checkup, repo: str) -> Finding:
    about = f"{repo}: webhook"
    url = f"{parts.public_url.rstrip('/')}/hooks/github"
    try:
        hooks = checkup.webhooks(repo)
    except Refused as error:
        return Finding(about, str(error), "let the bot read webhooks, so that they can be checked")
    ours = next((each for each in hooks if each.url == url), None)
    if ours is None:
        return Finding(about, f"none goes to {url}", "add it; without it the bot is only slower")
    unsent = tuple(each for each in EVENTS if not {"*", each} & set(ours.events))
    if not ours.active:
        return Finding(about, "it is switched off", "switch it on")
    if unsent:
        return Finding(about, f"it does not send {listed(unsent)}", "let it send these events")
    if ours.failures:
        return _failed(checkup, repo, ours)
    return Finding(about, "active; its last deliveries arrived")


def _failed(checkup: Checkup, repo: str, hook: Webhook) -> Finding:
    """Have failed deliveries sent again, oldest first, and say how many there are."""
    newest = hook.failures[0]
    text = (
        f"{len(hook.failures)} of its deliveries did not arrive, the last one of {newest.event}: "
        f"{newest.how}"
    )
    asked = 0
    with suppress(Refused):
        for failure in reversed(hook.failures[:REDELIVERED_MAX]):
            checkup.redeliver(repo, hook, failure)
            asked += 1
    again = f"{asked} of them are sent again" if asked else "let the bot write webhooks"
    advice = f"see that the forge can reach this address; {again}, then look here again"
    return Finding(f"{repo}: webhook", text, advice)
