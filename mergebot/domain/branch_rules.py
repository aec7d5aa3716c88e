"""What the forge itself demands of the trunk, and whether a landing can satisfy it.

Only what binds the bot is here: rules that it may pass by are left out by whoever read them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mergebot.domain.gate import Pin
from mergebot.domain.ids import Sha, short
from mergebot.domain.policy import Method, Policy

OWN_CHECK = "mergebot"


@dataclass(frozen=True, slots=True)
class BranchRules:
    """The rules that bind the bot on one branch.

    `checks` must be green on the commit that is pushed. The others name, each, what demands it:
    a ruleset or the branch's protection; "" where nothing does. `pins` are what any rule says about
    who reports which check, and `guarded` names what keeps others from updating the branch: also
    where the bot may pass the rule by.
    """

    checks: tuple[str, ...] = ()
    signatures: str = ""
    linear: str = ""
    pull_request: str = ""
    closed: str = ""
    checks_by: str = ""
    pins: tuple[Pin, ...] = ()
    guarded: str = ""

    @property
    def wants_own_check(self) -> bool:
        """Tell whether the bot's own check must be green on the merged commit."""
        return OWN_CHECK in self.checks


def unlandable(rules: BranchRules, policy: Policy) -> str:
    """Return why no landing under `policy` can satisfy `rules`, "" where one can."""
    silent = [name for name in rules.checks if name not in {OWN_CHECK, *policy.external.checks}]
    if rules.closed:
        return f"{rules.closed} lets others than mergebot push to this branch: add it to the list"
    if rules.pull_request:
        return (
            f"{rules.pull_request} wants every change to come through the merge button: "
            "let mergebot bypass it, its own `require_approvals` counts reviews"
        )
    if rules.signatures:
        return (
            f"{rules.signatures} requires signed commits, and what mergebot replays is not signed: "
            "give it a key by MERGEBOT_COMMIT_KEY_FILE, or let it bypass the rule"
        )
    if rules.linear and policy.queue.method is Method.MERGE:
        return (
            f"{rules.linear} requires a linear history, which the method `merge` breaks: "
            "use `rebase` or `squash`"
        )
    if silent:
        return (
            f"{rules.checks_by} requires the check `{silent[0]}`, which nobody reports on the "
            "merged commit: name it in [gate.external], or let mergebot bypass the rule"
        )
    return ""


@dataclass(frozen=True, slots=True)
class Signature:
    """What the forge says of the signature of a commit; `reason` is its word, such as unsigned."""

    commit: Sha
    verified: bool
    reason: str

    @property
    def missing(self) -> bool:
        """Tell whether there is none."""
        return self.reason == "unsigned"


def unverified(rules: BranchRules, policy: Policy, found: Sequence[Signature]) -> str:
    """Return why a change's own commits cannot land where signed ones are required, "" if they can.

    Those that mergebot makes anew it signs; a merge keeps the author's, and so does a rebase of
    commits that are all signed where nothing has to be made anew.
    """
    bad = next((each for each in found if not each.verified), None)
    if bad is None or policy.queue.method is Method.SQUASH:
        return ""
    told = f"{rules.signatures} requires signed commits, and the forge does not verify"
    told = f"{told} {short(bad.commit)} ({bad.reason})"
    if policy.queue.method is Method.MERGE:
        return f"{told}, which the method `merge` lands as it is: sign it, or use `rebase`"
    if any(each.missing for each in found):
        return ""
    return (
        f"{told}: register the key that signed it with its author's account, or push the commits "
        "without a signature, and mergebot signs them"
    )
