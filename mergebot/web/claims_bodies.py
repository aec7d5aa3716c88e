"""Reading what a request says about claims; every fault names its field."""

import json
import re
from datetime import UTC, datetime
from http import HTTPStatus
from typing import cast

from mergebot.domain.audit import Choice, Worktree
from mergebot.domain.claims import ClaimBlock, ClaimFaults, claim_of_fields
from mergebot.domain.costs import REFERENCE_CHARS_MAX, UNIT, Reported, amount_fault
from mergebot.domain.holding import Right, Session
from mergebot.domain.ledger import proof_of
from mergebot.domain.names import is_branch
from mergebot.domain.patterns import PatternFault
from mergebot.domain.patterns import parse as parse_pattern
from mergebot.web.problems import Problem

TEXT_CHARS_MAX = 200
PATH_CHARS_MAX = 1000
SECRET_CHARS_MIN = 32
WORKTREES_MAX = 500
PATTERNS_MAX = 200

Fields = dict[str, object]
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


def wrong(field: str, sentence: str) -> Problem:
    """Return the problem of a field that cannot be used."""
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, sentence, field=field)


def block_of(found: Fields) -> ClaimBlock:
    """Return the task, patterns and assumptions of a request; raises Problem 422."""
    table: Fields = {
        key: found[key] for key in ("task", "claims", "assumes") if found.get(key) is not None
    }
    block = claim_of_fields(table)
    if isinstance(block, ClaimFaults):
        first = block.faults[0]
        raise wrong(re.split(r"[\s\[]", first, maxsplit=1)[0], " ".join(block.faults))
    return block


def line_of(found: Fields, name: str, default: str = "", *, most: int = TEXT_CHARS_MAX) -> str:
    """Return one line of text that may be left out; raises Problem 422."""
    value = default if found.get(name) is None else found[name]
    if isinstance(value, str) and len(value) <= most and (not value or value.isprintable()):
        return value.strip()
    raise wrong(name, f"{name} must be one line of at most {most} characters, not {_shown(value)}")


def branch_of(found: Fields) -> str:
    """Return the branch that a request names, "" for none; raises Problem 422."""
    branch = line_of(found, "branch")
    if branch and not is_branch(branch):
        text = "branch must be the name of a branch, without blanks and without refs/heads/"
        raise wrong("branch", f"{text}, not {_shown(branch)}")
    return branch


def patterns_of(found: Fields) -> tuple[str, ...]:
    """Return the patterns of a request; raises Problem 422."""
    value = found.get("claims")
    if not isinstance(value, list) or not 0 < len(value) <= PATTERNS_MAX:
        raise wrong("claims", f"claims must be a list of 1 to {PATTERNS_MAX} patterns")
    for each in value:
        fault = parse_pattern(each) if isinstance(each, str) else PatternFault(_shown(each))
        if isinstance(fault, PatternFault):
            raise wrong("claims", fault.sentence)
    return tuple(dict.fromkeys(cast("list[str]", value)))


def generation_of(found: Fields) -> int:
    """Return the generation that a request names, 0 for none; raises Problem 422."""
    value = found.get("generation", 0)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53:
        return value
    raise wrong("generation", f"generation must be a whole number, not {_shown(value)}")


def session_of(found: Fields) -> Right | None:
    """Return the session whose token a request carries, None where it carries none."""
    token = line_of(found, "token")
    return Session(proof_of(token), generation_of(found)) if token else None


def secret_of(found: Fields) -> str:
    """Return the secret of the caller's session, "" for none; raises Problem 422."""
    secret = line_of(found, "session")
    if secret and len(secret) < SECRET_CHARS_MIN:
        text = f"session must be a secret of {SECRET_CHARS_MIN} to {TEXT_CHARS_MAX} characters"
        raise wrong("session", text)
    return secret


def review_of(found: Fields, default: float) -> float:
    """Return the day of review, `default` where none is named; raises Problem 422."""
    text = line_of(found, "review_at")
    if not text:
        return default
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise wrong(
            "review_at", f"review_at must be a date such as 2026-12-24, not {_shown(text)}"
        ) from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def reported_of(found: Fields) -> Reported:
    """Return the cost that a request reports; raises Problem 422."""
    amount, unit = found.get("amount"), line_of(found, "unit")
    if fault := amount_fault(amount):
        raise wrong("amount", f"{fault}, not {_shown(amount)}")
    if unit and not UNIT.fullmatch(unit):
        raise wrong("unit", f"unit must be 1 to 16 letters and digits, not {_shown(unit)}")
    reference = line_of(found, "reference", most=REFERENCE_CHARS_MAX)
    return Reported(float(cast("float", amount)), unit, reference)


def choice_of(found: Fields) -> Choice:
    """Return the decision that a request makes; raises Problem 422."""
    value = found.get("choice")
    if value in {each.value for each in Choice}:
        return Choice(str(value))
    raise wrong("choice", f"choice must be push or abandon, not {_shown(value)}")


def worktrees_of(found: Fields) -> list[Worktree]:
    """Return what a host says of its worktrees; raises Problem 422."""
    value = found.get("worktrees")
    if not isinstance(value, list) or len(value) > WORKTREES_MAX:
        raise wrong("worktrees", f"worktrees must be a list of at most {WORKTREES_MAX}")
    return [_worktree(each) for each in value]


def _worktree(value: object) -> Worktree:
    if not isinstance(value, dict):
        raise wrong("worktrees", f"a worktree must be an object, not {_shown(value)}")
    head, dirty, ahead = value.get("head"), value.get("dirty"), value.get("ahead")
    if not isinstance(head, str) or not _SHA.fullmatch(head):
        raise wrong("worktrees", f"head must be a commit id, not {_shown(head)}")
    if not isinstance(dirty, bool) or isinstance(ahead, bool) or not isinstance(ahead, int):
        raise wrong("worktrees", "dirty must be true or false, and ahead a whole number")
    return Worktree(
        path=line_of(value, "path", most=PATH_CHARS_MAX),
        branch=line_of(value, "branch", most=PATH_CHARS_MAX),
        head=head,
        dirty=dirty,
        ahead=ahead,
    )


def _shown(value: object) -> str:
    return "nothing" if value is None else json.dumps(value)[:60]
