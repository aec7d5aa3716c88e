"""The JSON of DESIGN.md section 5: everything an author or agent may know about a candidate.

The same document stands in the sticky comment's hidden first line, in the API and in MCP. Every
key is always there; what does not apply is null or empty.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from mergebot.domain.candidate import (
    Apart,
    Blocked,
    Cancelled,
    Candidate,
    Claim,
    ConflictEvidence,
    Doubt,
    Ejected,
    Failing,
    GateEvidence,
    Gating,
    Judging,
    Landed,
    Landing,
    Parked,
    PlainEvidence,
    Question,
    Queued,
    ScopeEvidence,
    State,
    Trial,
    Verified,
    merge_of,
    run_of,
)
from mergebot.domain.gate import StepResult
from mergebot.domain.ids import Lane
from mergebot.domain.judging import names
from mergebot.domain.lane import Halt
from mergebot.domain.markdown import plain
from mergebot.domain.names import render_path
from mergebot.domain.policy import BudgetPolicy, NoPolicy, Policy, PolicyFaults, QueuePolicy
from mergebot.domain.reasons import Fault, Reason, consequence

Document = dict[str, object]

HIDDEN_CHARS_MAX = 16_000
"""Of the hidden line: it shares the comment with what people read."""

_HIDDEN = re.compile(r"<!-- mergebot:v1 (\{.*\}) -->")
_PERSON_DECIDES = "a person decides"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a candidate stands: its position from 1, None once it ended, and the seconds to go.

    `step` is the step that its gate runs now, "" where it runs none.
    """

    position: int | None = None
    eta_s: float | None = None
    step: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a status needs to know about the lane: its rules, and where pages and remote are.

    `halt` is left out where what is written stands for longer than a halt may.
    """

    lane: Lane
    policy: Policy | PolicyFaults | NoPolicy
    base_url: str
    remote: str = "origin"
    halt: Halt | None = None

    @property
    def budget(self) -> BudgetPolicy:
        """Return the budget in force."""
        return self.policy.budget if isinstance(self.policy, Policy) else BudgetPolicy()

    def page(self, pr: int) -> str:
        """Return the address of a PR's page."""
        return f"{self.base_url.rstrip('/')}/{self.lane.repo}/pull/{pr}"


NOWHERE = Place()
GOING_ON = Queued | Blocked | Gating | Failing | Verified
"""The states that lead to a landing without anybody's doing, unless the queue is halted."""


def state_name(state: State) -> str:
    """Return the word for a state that authors know."""
    match state:
        case Queued() | Blocked():
            return "queued"
        case Parked():
            return "parked"
        case Gating() | Failing():
            return "gating"
        case Verified():
            return "verified"
        case Landing():
            return "landing"
        case Landed():
            return "landed"
        case Ejected():
            return "ejected"
        case Cancelled():
            return "cancelled"


def status_document(candidate: Candidate, setting: Setting, place: Place = NOWHERE) -> Document:
    """Return the document of a candidate; every key is always present."""
    state = candidate.state
    step = _step(state)
    merge = merge_of(state)
    evidence = state.evidence if isinstance(state, Ejected) else None
    base = evidence.base if isinstance(evidence, ConflictEvidence) else merge and merge.base
    run = run_of(state)
    left = max(setting.budget.failures - candidate.budget.failures, 0)
    return {
        "v": 1,
        "repo": setting.lane.repo,
        "pr": candidate.pr,
        "head": candidate.head,
        "trunk": setting.lane.trunk,
        "state": state_name(state),
        "reason": reason_of(state),
        "fault": _fault(state),
        "with": list(evidence.others) if isinstance(evidence, GateEvidence) else [],
        "position": place.position if candidate.open else None,
        "eta_s": round(place.eta_s) if candidate.open and place.eta_s is not None else None,
        "base": base,
        "merged": merge.merged if merge else None,
        "step": step.name if step else place.step or None,
        "command": step.command if step else None,
        "exit_code": step.exit_code if step else None,
        "seconds": round(step.seconds, 1) if step else None,
        "first_error": plain(evidence.result.first_error)
        if isinstance(evidence, GateEvidence)
        else None,
        "log_url": f"{setting.page(candidate.pr)}/log/{run}" if run else None,
        "claimed": list(candidate.claim.patterns) if isinstance(candidate.claim, Claim) else [],
        "strayed": _paths(evidence.strayed if isinstance(evidence, ScopeEvidence) else ()),
        "conflicts": [render_path(path) for path in evidence.paths]
        if isinstance(evidence, ConflictEvidence)
        else [],
        "attempt": candidate.attempt,
        "failures_left": left,
        "may_requeue": may_requeue(candidate, left),
        "next_action": _after_halt(state, setting.halt) or next_action(candidate, left),
        "repro": _repro(candidate, setting),
        "text": _text(state, setting),
        "url": setting.page(candidate.pr),
    }


def reason_of(state: State) -> Reason | None:
    """Return the reason that a state carries, where it carries one."""
    match state:
        case Parked(reason) | Ejected(reason) | Cancelled(reason):
            return reason
        case _:
            return None


def may_requeue(candidate: Candidate, failures_left: int) -> bool:
    """Tell whether the author may try again; one whose budget is spent may not."""
    reason = reason_of(candidate.state)
    if candidate.open or reason is None:
        return False
    what = consequence(reason)
    return what.may_requeue and (what.spends != "failure" or failures_left > 0)


def next_action(candidate: Candidate, failures_left: int) -> str:
    """Return what the author should do now, in a few words."""
    state = candidate.state
    reason = reason_of(state)
    match state:
        case Landed():
            return "nothing; the change is on the trunk"
        case Queued() | Blocked() | Gating() | Failing() | Verified() | Landing():
            return "nothing; it goes on by itself"
        case Ejected() if consequence(state.reason).spends == "failure" and not failures_left:
            return _PERSON_DECIDES
        case Ejected(evidence=GateEvidence(fault=Fault.COMBINATION, others=others)):
            together = names(others)
            return f"rebase on the trunk, make it work together with {together}, then label again"
        case _:
            return consequence(reason).next_action if reason else ""


def unqueued_text(pr: int, latest: Candidate | None, policy: Policy | None) -> str:
    """Say where a pull request stands that is not in the queue; `latest` is its last attempt."""
    if latest is None:
        label = (policy.queue if policy else QueuePolicy()).label
        return f"#{pr} was never queued: set the label {label} on it to queue it"
    ended, reason = state_name(latest.state), reason_of(latest.state)
    allowed = (policy.budget if policy else BudgetPolicy()).failures
    left = max(allowed - latest.budget.failures, 0)
    how = f"{ended} ({reason})" if reason else ended
    what = next_action(latest, left)
    return f"#{pr} is not in the queue: attempt {latest.attempt} ended as {how}; next: {what}"


def explanation(state: State) -> str:
    """Return the sentence that a state carries beyond its reason, or ""."""
    match state:
        case Parked(text=text) | Cancelled(text=text) | Ejected(evidence=PlainEvidence(text)):
            return plain(text)
        case Ejected(evidence=ScopeEvidence(details=details)):
            return plain(" ".join(details[:20]))
        case Queued(company=Apart()) | Gating(company=Apart()):
            return (
                "It was red in a group; it is gated beside the queue to see whose fault that was."
            )
        case Blocked():
            return "It does not apply on top of the change ahead; it is tried again when that ends."
        case Failing(judging=judging):
            return _judging(judging)
        case _:
            return ""


def _text(state: State, setting: Setting) -> str:
    own = explanation(state) or _without_rules(state, setting.policy)
    return " ".join(filter(None, (_halted(state, setting.halt), own)))


def _halted(state: State, halt: Halt | None) -> str:
    """Return why one that would go on by itself does not, while the queue is halted."""
    if halt is None or not isinstance(state, GOING_ON):
        return ""
    return plain(
        f"The queue is halted by {halt.by}: {halt.reason}. Nothing lands until {halt.ends_when}."
    )


def _after_halt(state: State, halt: Halt | None) -> str:
    waits = halt is not None and isinstance(state, GOING_ON)
    return f"nothing; it goes on once {halt.ends_when}" if halt and waits else ""


def _without_rules(state: State, policy: Policy | PolicyFaults | NoPolicy) -> str:
    """Return why one that waits does not move while the rules on the trunk are broken."""
    match state, policy:
        case Queued(), PolicyFaults(faults=faults):
            return plain("It waits: .mergebot.toml on the trunk is broken. " + " ".join(faults))
        case _:
            return ""


def _judging(judging: Judging) -> str:
    match judging:
        case (Doubt(Question.AMONG) as doubt) | Trial(Doubt(Question.AMONG) as doubt):
            among = names(doubt.others)
            return f"It is green alone and red with one of {among}: which one is being found out."
        case Doubt(Question.ALONE, others=others):
            return f"The gate was red. Once a slot is idle, it is gated without {names(others)}."
        case Doubt():
            return "The gate was red. Once a slot is idle, it runs again on the same commit."
        case Trial(doubt) if doubt.question is Question.ALONE:
            return f"The gate was red. Now it is gated alone, without {names(doubt.others)}."
        case Trial():
            return "The gate was red. It runs again on the same commit, to see whether it is flaky."
        case _:
            return "The gate was red; whose fault it was is being found out."


def _step(state: State) -> StepResult | None:
    match state:
        case Ejected(evidence=GateEvidence(result=result)):
            return result.step
        case _:
            return None


def _fault(state: State) -> Fault | None:
    match state:
        case Ejected(evidence=GateEvidence(fault=fault)):
            return fault
        case Verified(verdict=verdict) | Landing(verdict=verdict) if verdict.flaky:
            return Fault.FLAKY
        case Ejected(reason) if consequence(reason).spends == "failure":
            return Fault.CANDIDATE
        case Parked(Reason.TRUNK_RED):
            return Fault.TRUNK
        case Parked(Reason.INFRA | Reason.FORGE_UNAVAILABLE):
            return Fault.INFRASTRUCTURE
        case _:
            return None


def _paths(paths: tuple[str, ...]) -> list[str]:
    return [path.encode("utf-8", "replace").decode() for path in paths]


def _repro(candidate: Candidate, setting: Setting) -> list[str]:
    match candidate.state:
        case Ejected(evidence=GateEvidence(merge=merge, result=result)):
            return [
                f"git fetch {setting.remote} refs/mergebot/candidate/{candidate.pr}",
                f"git switch --detach {merge.merged}",
                result.step.command,
            ]
        case Ejected(evidence=ConflictEvidence(base=base)):
            return [
                f"git fetch {setting.remote} {setting.lane.trunk} pull/{candidate.pr}/head",
                f"git switch --detach {candidate.head}",
                f"git rebase {base}",
            ]
        case _:
            return []


def hidden_line(document: Mapping[str, object]) -> str:
    """Return the first line of the sticky comment.

    Nothing in it can end the HTML comment or mention anybody. A document that is too long loses
    the ends of its lists, and says so in `truncated`.
    """
    line = _hidden(document)
    keep = 128
    while len(line) > HIDDEN_CHARS_MAX and keep:
        line = _hidden({**_cut(document, keep), "truncated": True})
        keep //= 2
    return line


def _hidden(document: Mapping[str, object]) -> str:
    text = json.dumps(document, ensure_ascii=True, separators=(",", ":"))
    for character in "@#<>":
        text = text.replace(character, f"\\u{ord(character):04x}")
    text = text.replace("--", "-\\u002d")
    return f"<!-- mergebot:v1 {text} -->"


def _cut(document: Mapping[str, object], keep: int) -> Document:
    """Return the document with at most `keep` items in each list, and its texts shorter too."""
    cut: Document = {}
    for key, value in document.items():
        if isinstance(value, list):
            cut[key] = [each[:500] for each in value[:keep]]
        else:
            cut[key] = value[: max(keep * 16, 200)] if isinstance(value, str) else value
    return cut


def read_hidden_line(text: str) -> Document | None:
    """Return the document that a comment starts with, or None where it starts with none."""
    match = _HIDDEN.match(text.split("\n", 1)[0].rstrip("\r"))
    if not match:
        return None
    try:
        document = json.loads(match[1])
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and document.get("v") == 1 else None
