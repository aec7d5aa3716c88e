"""The repository's own CI: it hears of pushes, and reports checks as badly as such programs do."""

from dataclasses import dataclass, field
from functools import partial

from mergebot.adapters.memory.hosting import Hosting
from mergebot.adapters.memory.remote import Moved
from mergebot.domain.external import CheckSeen, Outcome
from mergebot.domain.gate import ExternalChecks
from mergebot.domain.ids import Sha
from mergebot.domain.reasons import Reason
from tests.simulation import truth
from tests.simulation.moods import Mood
from tests.simulation.rulebook import ALL, DOCS
from tests.simulation.stage import Stage

OWN, STRANGER = "ci", "stranger"
WATCHED = ("refs/heads/mergebot/trial/", "refs/heads/main")
ENDS = {
    None: Outcome.PASSED,
    Reason.GATE_FAILED: Outcome.FAILED,
    Reason.GATE_TIMEOUT: Outcome.TIMED_OUT,
}


@dataclass(frozen=True, slots=True)
class Report:
    """What was reported, on which commit, and when."""

    at: float
    sha: Sha
    check: CheckSeen


@dataclass(slots=True)
class Ci:
    """Runs its checks on what is pushed; `log` has every report, oldest first.

    Its own run is always announced before anybody else reports under its name: a stranger who is
    quicker than that is taken for it.
    """

    stage: Stage
    mood: Mood
    hosting: Hosting
    log: list[Report] = field(default_factory=list)
    silent: set[Sha] = field(default_factory=set)
    ids: int = 0

    def moved(self, event: Moved) -> None:
        """Hear that refs moved."""
        for move in event.refs:
            if move.new is not None and move.ref.startswith(WATCHED):
                self._starts(move.new)

    def care(self, tip: Sha) -> None:
        """Run everything on the trunk's tip again where it is not known to be green."""
        newest = {each.check.name: each.check for each in self.log if each.sha == tip}
        done = (Outcome.PASSED, Outcome.SKIPPED)
        if any(name not in newest or newest[name].outcome not in done for name in (ALL, DOCS)):
            self._runs(tip, ALL, self._found(tip))
            self._runs(tip, DOCS, Outcome.SKIPPED)

    def ever_green(self, sha: Sha, required: ExternalChecks) -> bool:
        """Tell whether at any moment every producer's newest run of each required check was green.

        A run that began earlier may end last, where the commit was pushed twice.
        """
        newest: dict[tuple[str, str], CheckSeen] = {}
        fine = {Outcome.PASSED}
        for check in (each.check for each in self.log if each.sha == sha):
            before = newest.get((check.producer, check.name), check)
            newest[check.producer, check.name] = max(check, before, key=lambda each: each.id)
            there = {name for _, name in newest}
            skipped = {name: fine | {Outcome.SKIPPED} for name in required.skippable}
            if there.issuperset(required.checks) and all(
                each.outcome in skipped.get(name, fine)
                for (_, name), each in newest.items()
                if name in required.checks
            ):
                return True
        return False

    def _found(self, sha: Sha) -> Outcome:
        found = truth.fault(self.hosting.remote.objects.commit(sha).tree)
        return ENDS[found[0] if found else None]

    def _starts(self, sha: Sha) -> None:
        if self._strikes("check_silent"):
            self.silent.add(sha)
            return
        found = self._found(sha)
        if self._strikes("check_skipped"):
            found = Outcome.SKIPPED
        after_s = self.mood.rng.uniform(0.5, 6.0)
        self.stage.later(after_s, partial(self._runs, sha, ALL, found))
        self.stage.later(after_s, partial(self._runs, sha, DOCS, Outcome.SKIPPED))

    def _runs(self, sha: Sha, name: str, found: Outcome) -> None:
        """Announce a run, and let it end later, be cancelled or run again."""
        run = self._next()
        self._report(sha, CheckSeen(OWN, name, run, Outcome.WAITING))
        takes_s = self.mood.rng.uniform(5.0, 60.0)
        if name == ALL and self._strikes("check_late"):
            takes_s = self.mood.rng.uniform(200.0, 500.0)
        first = found
        if name == ALL and self._strikes("check_cancelled"):
            first = Outcome.CANCELLED
        elif name == ALL and self._strikes("check_rerun"):
            first = Outcome.FAILED
        ends = partial(self._report, sha, CheckSeen(OWN, name, run, first))
        self.stage.later(takes_s, ends)
        if name == ALL and self._strikes("check_doubled"):
            self.stage.later(takes_s + 3.0, partial(self._again, sha, name, first))
        if name == ALL and self._strikes("check_stranger"):
            said = self.mood.rng.choice((Outcome.PASSED, Outcome.FAILED))
            mine = CheckSeen(STRANGER, name, self._next(), said)
            self.stage.later(takes_s * self.mood.rng.random(), partial(self._report, sha, mine))
        if first is not found:
            again = partial(self._runs, sha, name, found)
            self.stage.later(takes_s + self.mood.rng.uniform(10.0, 150.0), again)

    def _again(self, sha: Sha, name: str, outcome: Outcome) -> None:
        self._report(sha, CheckSeen(OWN, name, self._next(), outcome))

    def _report(self, sha: Sha, check: CheckSeen) -> None:
        reported = self.hosting.reported
        kept = [each for each in reported.get(sha, ()) if each.id != check.id]
        reported[sha] = (*kept, check)
        self.log.append(Report(self.stage.clock.now(), sha, check))

    def _next(self) -> int:
        self.ids += 1
        return self.ids

    def _strikes(self, kind: str) -> bool:
        struck = self.mood.strikes(kind)
        self.stage.tally[kind] += struck
        return struck
