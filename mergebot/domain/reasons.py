"""Why a candidate is where it is: the table of DESIGN.md section 5 as values."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class Reason(StrEnum):
    """A named cause; every terminal or parked state carries exactly one."""

    CONFLICT = "conflict"
    GATE_FAILED = "gate_failed"
    GATE_TIMEOUT = "gate_timeout"
    OUT_OF_SCOPE = "out_of_scope"
    MERGE_COMMITS = "merge_commits"
    FORBIDDEN_CONTENT = "forbidden_content"
    TOO_LARGE = "too_large"
    EMPTY = "empty"
    CLAIM_MISSING = "claim_missing"
    CLAIM_OVERLAP = "claim_overlap"
    PROTECTED_PATH = "protected_path"
    NOT_PERMITTED = "not_permitted"
    BRANCH_RULES = "branch_rules"
    INVALID_CONFIG = "invalid_config"
    HEAD_CHANGED = "head_changed"
    BASE_CHANGED = "base_changed"
    CLOSED = "closed"
    DRAFT = "draft"
    LABEL_REMOVED = "label_removed"
    HELD = "held"
    NOT_READY = "not_ready"
    STALE_CONTRACT = "stale_contract"
    TRUNK_RED = "trunk_red"
    INFRA = "infra"
    FORGE_UNAVAILABLE = "forge_unavailable"
    ALREADY_LANDED = "already_landed"
    BUDGET_SPENT = "budget_spent"

    @property
    def words(self) -> str:
        """Return it as people read it; programs read the value."""
        return self.value.replace("_", " ")


class Fault(StrEnum):
    """Whose doing a failure was."""

    CANDIDATE = "candidate"
    COMBINATION = "combination"
    TRUNK = "trunk"
    FLAKY = "flaky"
    INFRASTRUCTURE = "infrastructure"


Ends = Literal["ejected", "cancelled", "parked"]
Spends = Literal["failure", "infra", "nothing"]


@dataclass(frozen=True, slots=True)
class Consequence:
    """What a reason leads to: the state, the budget it spends, and when the author may try again."""

    ends: Ends
    spends: Spends
    may_requeue: bool
    next_action: str


_FIX = "push a fix, then label again"
_SAME = "label again when you are ready"
_WAIT = "nothing; it goes on by itself"

_TABLE = {
    Reason.CONFLICT: Consequence(
        "ejected", "failure", True, "rebase on the trunk, push, then label again"
    ),
    Reason.GATE_FAILED: Consequence("ejected", "failure", True, _FIX),
    Reason.GATE_TIMEOUT: Consequence("ejected", "failure", True, _FIX),
    Reason.OUT_OF_SCOPE: Consequence(
        "ejected", "failure", True, "extend the claim or take the strays out, then label again"
    ),
    Reason.MERGE_COMMITS: Consequence(
        "ejected", "failure", True, "squash or linearise the branch, push, then label again"
    ),
    Reason.FORBIDDEN_CONTENT: Consequence("ejected", "failure", True, _FIX),
    Reason.TOO_LARGE: Consequence("ejected", "failure", True, "split the change, then label again"),
    Reason.EMPTY: Consequence("ejected", "failure", True, "push a change, then label again"),
    Reason.CLAIM_MISSING: Consequence(
        "ejected",
        "nothing",
        True,
        "put a valid mergebot claim block into the description, then label again",
    ),
    Reason.CLAIM_OVERLAP: Consequence(
        "ejected", "nothing", True, "wait for the other claim to end, then label again"
    ),
    Reason.PROTECTED_PATH: Consequence(
        "ejected", "nothing", True, "name the path literally in the claim and let an admin label"
    ),
    Reason.NOT_PERMITTED: Consequence(
        "ejected",
        "nothing",
        True,
        "once the cause is gone, have it labelled by someone who may",
    ),
    Reason.BRANCH_RULES: Consequence(
        "ejected", "nothing", True, "change the branch rules or the change, then label again"
    ),
    Reason.INVALID_CONFIG: Consequence(
        "ejected", "nothing", True, "repair .mergebot.toml, then label again"
    ),
    Reason.HEAD_CHANGED: Consequence("cancelled", "nothing", True, _SAME),
    Reason.BASE_CHANGED: Consequence("cancelled", "nothing", True, _SAME),
    Reason.CLOSED: Consequence("cancelled", "nothing", True, "reopen, then label again"),
    Reason.DRAFT: Consequence(
        "cancelled", "nothing", True, "mark it ready for review, then label again"
    ),
    Reason.LABEL_REMOVED: Consequence("cancelled", "nothing", True, _SAME),
    Reason.HELD: Consequence("parked", "nothing", False, "remove the hold label"),
    Reason.NOT_READY: Consequence("parked", "nothing", False, _WAIT),
    Reason.STALE_CONTRACT: Consequence("parked", "nothing", False, "its owners are asked"),
    Reason.TRUNK_RED: Consequence("parked", "nothing", False, _WAIT),
    Reason.INFRA: Consequence("parked", "infra", False, _WAIT),
    Reason.FORGE_UNAVAILABLE: Consequence("parked", "nothing", False, _WAIT),
    Reason.ALREADY_LANDED: Consequence(
        "ejected", "nothing", False, "nothing; the change is on the trunk"
    ),
    Reason.BUDGET_SPENT: Consequence("ejected", "nothing", False, "a person decides"),
}


AGAIN = "somebody with maintain permission may `retry` it and say what is different this time"
"""What a person may do about a spent budget."""


def consequence(reason: Reason) -> Consequence:
    """Return what `reason` leads to."""
    return _TABLE[reason]
