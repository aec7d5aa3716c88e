"""Waiting for the repository's own CI on a merged commit, pushed to a branch of its own.

The branch is there for as long as the gate waits. A check that nobody reports in time is no
verdict; one that is not reported three times in a row is called a misconfiguration, and halts.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from mergebot.domain.decision import Decision
from mergebot.domain.external import (
    COMMAND,
    AllGreen,
    Awaited,
    CheckSeen,
    OneRed,
    Outcome,
    awaited_from,
    demanded,
    judge,
    unheard,
)
from mergebot.domain.gate import ExternalChecks, Failed, NoVerdict, StepResult
from mergebot.domain.ids import Actor, Lane, short
from mergebot.domain.lane import Halt, RunOrder
from mergebot.domain.reasons import Reason
from mergebot.ports.errors import Refused, Unavailable
from mergebot.ports.git import Git
from mergebot.services.branch_rules import branch_rules_of
from mergebot.services.deciding import decide
from mergebot.services.parts import Parts

log = structlog.get_logger()

QUICK_S, QUICK_LOOKS = 2.0, 5
SLOW_S = 10.0
"""Between two looks: most are answered for free, since nothing changed."""

SILENT_MAX = 3
TRIALS = "mergebot/trial/"
NO_LOG = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True)
class Watch:
    """How a gate waits: `pause` returns False once nobody wants it; `say` writes into its log."""

    pause: Callable[[float], bool]
    say: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one look at a merged commit found: what is required of it, and what is reported."""

    required: ExternalChecks
    seen: tuple[CheckSeen, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """One merged commit before the repository's own CI."""

    parts: Parts
    git: Git
    lane: Lane
    order: RunOrder

    def run(self, watch: Watch) -> tuple[StepResult, ...] | Failed | NoVerdict | None:
        """Return what the checks say, None once nobody wants to know; raises Unavailable, Refused."""
        order = self.order
        if not order.spec.external.checks:
            return ()
        if not order.pr:
            # The trunk's tip is on a branch already, and whoever pushed it started its checks.
            return self._wait(watch)
        self.git.push_trial(order.pr, order.merged)
        watch.say(f"{short(order.merged)} is pushed to mergebot/trial/{order.pr:d}")
        try:
            return self._wait(watch)
        finally:
            self._clear()

    def _clear(self) -> None:
        try:
            self.git.drop_trial(self.order.pr)
        except (Unavailable, Refused) as error:
            log.warning("trial_branch_stays", pr=self.order.pr, why=str(error))

    def _wait(self, watch: Watch) -> tuple[StepResult, ...] | Failed | NoVerdict | None:
        external = self.order.spec.external
        clock = self.parts.clock
        authors = self._authors()
        said: set[CheckSeen] = set()
        began = clock.now()
        looks = 0
        while True:
            reading = self._look()
            required, seen = (reading.required, reading.seen) if reading else (external, ())
            found = judge(required, seen, authors=authors)
            strangers = unheard(required, seen, authors=authors)
            for each in strangers:
                if each not in said:
                    said.add(each)
                    watch.say(_stranger(required, each))
                    log.info("check_of_a_stranger", pr=self.order.pr, by=each.producer)
            spent_s = clock.now() - began
            match found:
                case AllGreen():
                    self._heard()
                    return tuple(_step(name, 0, spent_s) for name in external.checks)
                case OneRed(check):
                    self._heard()
                    return _failed(check, spent_s)
                case Awaited() if spent_s > external.timeout_s and reading is None:
                    return NoVerdict("the forge did not say in time what others reported")
                case Awaited() if spent_s > external.timeout_s:
                    return self._too_late(required, found, strangers)
            looks += 1
            if not watch.pause(QUICK_S if looks <= QUICK_LOOKS else SLOW_S):
                return None

    def _authors(self) -> tuple[Actor, ...]:
        """Return whose changes are gated: nobody's for the trunk's own tip."""
        candidates = self.parts.store.read(self.lane).candidates
        members = {self.order.pr, *self.order.members}
        return tuple(each.proposal.author for each in candidates if each.pr in members)

    def _look(self) -> Reading | None:
        """Return what is reported, None where nobody can tell: that is not silence."""
        try:
            rules = branch_rules_of(self.parts, self.lane)
            seen = tuple(self.parts.forge.checks(self.lane.repo, self.order.merged))
        except Unavailable as error:
            log.info("checks_unread", why=str(error))
            return None
        return Reading(demanded(self.order.spec.external, rules), seen)

    def _heard(self) -> None:
        for name in self.order.spec.external.checks:
            self.parts.store.end(self.lane, _silence(name))

    def _too_late(
        self, required: ExternalChecks, found: Awaited, strangers: Sequence[CheckSeen]
    ) -> NoVerdict:
        for name in found.silent if self.order.pr else ():
            if self.parts.store.begin(self.lane, _silence(name)) >= SILENT_MAX:
                self._halt(name, awaited_from(required, name))
        if not found.silent:
            late = _named(found.pending[0], awaited_from(required, found.pending[0]))
            return NoVerdict(f"{late} did not come to an end in time")
        name = found.silent[0]
        text = f"nobody reported {_named(name, awaited_from(required, name))} in time"
        others = [each for each in strangers if each.name == name]
        return NoVerdict("; ".join([text, *(_stranger(required, each) for each in others)]))

    def _halt(self, name: str, awaited: str) -> None:
        text = (
            f"{_named(name, awaited)} was not reported on {SILENT_MAX} merged commits in a row: "
            "either [gate.external] names it or its producer wrongly, or its workflow does not run "
            "on pushes to mergebot/trial/**"
        )

        def rule(decision: Decision) -> Decision:
            if decision.snapshot.state.halt is not None:
                return decision
            ends = "somebody resumes after setting the check right"
            halt = Halt(text, decision.snapshot.now, "mergebot", ends)
            return decision.halt(halt, text)

        decide(self.parts, self.lane, rule)


def sweep_trials(parts: Parts, git: Git, lane: Lane) -> None:
    """Remove trial branches that nobody waits at any more: their run's worker died."""
    policy = parts.store.read(lane).policy
    if policy is None or not policy.gate.external.checks:
        return
    names = [each for each in git.branches() if each.startswith(TRIALS)]
    found = {int(each) for name in names if (each := name.removeprefix(TRIALS)).isdecimal()}
    runs = parts.store.read(lane).runs.values()
    for pr in sorted(found - {run.order.pr for run in runs if run.result is None}):
        log.info("trial_branch_left_over", lane=lane.repo, pr=pr)
        git.drop_trial(pr)


def _silence(name: str) -> str:
    return f"silent check {name}"


def _named(name: str, awaited: str) -> str:
    return f"the check `{name}`" + (f" of {awaited}" if awaited else "")


def _stranger(required: ExternalChecks, check: CheckSeen) -> str:
    """Say whose report counts for nothing, and why."""
    awaited = awaited_from(required, check.name)
    why = f"it is awaited from {awaited}" if awaited else "nobody vouches for a change of their own"
    said = f"the word of {check.producer} on the check `{check.name}` ({check.outcome.value})"
    return f"{said} counts for nothing: {why}"


def _step(name: str, code: int, seconds: float) -> StepResult:
    return StepResult(name, COMMAND, code, seconds, NO_LOG)


def _failed(check: CheckSeen, seconds: float) -> Failed:
    late = check.outcome is Outcome.TIMED_OUT
    reason = Reason.GATE_TIMEOUT if late else Reason.GATE_FAILED
    text = f"the check `{check.name}` of {check.producer} {_VERBS[check.outcome]}"
    text = f"{text}: {check.url}" if check.url else text
    return Failed(reason, (_step(check.name, 1, seconds),), text, text)


_VERBS = {
    Outcome.FAILED: "failed",
    Outcome.TIMED_OUT: "timed out",
    Outcome.SKIPPED: "was skipped, and is not in gate.external.skippable",
}
