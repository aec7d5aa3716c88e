"""Many seeds, what they met all together, and what a run of them must have met to count."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from mergebot.domain.reasons import Reason
from tests.simulation.moods import RATES
from tests.simulation.town import Ending, live

WHOLE_RUN = 2000
FAULTS_MIN = 50
LANDINGS_MIN = 1000
STATES = (
    "Queued",
    "Parked",
    "Blocked",
    "Gating",
    "Failing",
    "Verified",
    "Landing",
    "Landed",
    "Ejected",
    "Cancelled",
)
WAYS_MIN = 3
WAYS = (
    "landed in groups",
    "landed by a kept verdict",
    "landed by a kept step",
    "landed by others' checks",
    "landed by a flaky step",
    "landed by a hedge",
    "gated apart",
)
"""What may become of a change, each of which a whole run has to have seen that often."""


@dataclass(slots=True)
class Tally:
    """What seeds met."""

    seeds: int = 0
    met: Counter[str] = field(default_factory=Counter)
    reached: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)

    def add(self, ending: Ending) -> None:
        """Take in how one seed ended."""
        self.seeds += 1
        self.met += ending.tally
        self.reached += ending.reached
        self.checks += ending.checks

    def document(self) -> dict[str, object]:
        """Return the tally as JSON."""
        return {
            "seeds": self.seeds,
            "met": dict(self.met),
            "reached": dict(self.reached),
            "checks": dict(self.checks),
        }

    def add_document(self, document: dict[str, object]) -> None:
        """Take in another tally's JSON."""
        self.seeds += int(str(document["seeds"]))
        for name, counter in (
            ("met", self.met),
            ("reached", self.reached),
            ("checks", self.checks),
        ):
            counts = document[name]
            if isinstance(counts, dict):
                counter.update(counts)

    def lacking(self) -> list[str]:
        """Return what a whole run must have met and did not."""
        faults = [f"{kind}: {self.met[kind]}" for kind in RATES if self.met[kind] < FAULTS_MIN]
        states = [name for name in STATES if not self.reached[f"state {name}"]]
        reasons = [f"{each}" for each in Reason if not self.reached[f"reason {each}"]]
        ways = [f"{way}: {self.met[way]}" for way in WAYS if self.met[way] < WAYS_MIN]
        landings = self.met["landings"]
        few = [f"{landings} landings"] if landings < LANDINGS_MIN else []
        return [*faults, *states, *reasons, *ways, *few]

    def report(self, broken: int = 0) -> list[str]:
        """Return the tally as lines for people; `broken` counts the seeds that broke a promise."""
        faults = ", ".join(f"{kind} {self.met[kind]}" for kind in RATES)
        checks = ", ".join(f"{name} {self.checks[name]}" for name in sorted(self.checks))
        ways = ", ".join(f"{way} {self.met[way]}" for way in WAYS)
        states = ", ".join(f"{name} {self.reached[f'state {name}']}" for name in STATES)
        reasons = ", ".join(f"{each} {self.reached[f'reason {each}']}" for each in Reason)
        return [
            f"seeds run: {self.seeds}; landings: {self.met['landings']}; violations: {broken}",
            f"ways gone: {ways}",
            f"faults injected: {faults}",
            f"states reached: {states}",
            f"reasons reached: {reasons}",
            f"invariants checked: {checks}",
        ]


class Broken(AssertionError):
    """A seed broke a promise; the text is its story."""


def run(seeds: Iterable[int], tally: Tally) -> None:
    """Live every seed; raises Broken with the story of the first that breaks a promise."""
    for seed in seeds:
        ending = live(seed)
        tally.add(ending)
        if ending.broken:
            raise Broken(story(ending))


def story(ending: Ending) -> str:
    """Return what happened in a seed, for people to read."""
    head = [f"seed {ending.seed} breaks a promise:", *(f"  {each}" for each in ending.broken)]
    again = f"replay: python -m tests.simulation --seed {ending.seed}"
    return "\n".join([*head, "", *ending.story, "", *head, again])
