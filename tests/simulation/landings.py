"""What must be true of each landing, told from the refs, the commits and what people did.

One push may land a group: each of its members has a receipt, and only the last one was gated.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from mergebot.adapters.memory.hosting import Hosting
from mergebot.adapters.memory.objects import tree_id
from mergebot.adapters.memory.remote import Moved
from mergebot.domain.candidate import Candidate, Landing
from mergebot.domain.gate import GateSpec
from mergebot.domain.ids import Sha
from mergebot.domain.pulls import Permission, PullRequest
from mergebot.domain.receipts import Receipt
from tests.simulation import truth
from tests.simulation.asking import Asking
from tests.simulation.ci import Ci
from tests.simulation.gates import Results
from tests.simulation.people import FIX, QUEUE
from tests.simulation.promises import Promises
from tests.simulation.rulebook import read

TRUNK = "refs/heads/main"
TRIAL = "refs/heads/mergebot/trial/"
NEVER = ("elsewhere", ".github/", "-")
"""How paths begin that no change here may land."""

RULES = ".mergebot.toml"


@dataclass(frozen=True, slots=True)
class Landed:
    """One member of a landing, by its receipt."""

    receipt: Receipt
    said: Mapping[str, object]

    @property
    def pr(self) -> int:
        """Return its pull request."""
        return int(str(self.said["pr"]))

    def sha(self, name: str) -> Sha:
        """Return one of the commits that it names."""
        return Sha(str(self.said[name]))


@dataclass(slots=True)
class Landings:
    """Every landing, checked as it happens; `forgiving` once Redis fell."""

    promises: Promises
    hosting: Hosting
    results: Results
    asking: Asking
    ci: Ci
    candidate: Callable[[int], Candidate | None]
    landed: list[Landed] = field(default_factory=list)
    forgiving: bool = False

    def moved(self, event: Moved) -> None:
        """Hear that refs moved on the forge."""
        for move in event.refs:
            if move.ref == TRUNK and move.old and move.new and event.by == self.asking.bot:
                self._landing(move.old, move.new)
            elif move.ref.startswith(TRIAL) and move.new:
                self._tried(int(move.ref.removeprefix(TRIAL)), move.new)

    def _tried(self, pr: int, merged: Sha) -> None:
        """Hold that the repository's own CI never gets to see what strangers or nobody may change."""
        remote, own = self.hosting.remote, self.hosting.repository.full_name
        pull, tip = self.hosting.pulls[pr], remote.head("main")
        self.promises.hold("I15 no trial of a fork", pull.head_repo == own, f"#{pr}")
        paths = [each.path for each in remote.objects.changes(Sha(str(tip)), merged)]
        never = [path for path in paths if path.startswith(NEVER[1])]
        self.promises.hold("I15 no trial of protected paths", not never, f"#{pr} {never}")

    def _landing(self, old: Sha, new: Sha) -> None:
        members = self._members(old, new)
        ends = members[-1].sha("merged") if members else None
        self.promises.hold("I14 a receipt for each landing", ends == new, new)
        if ends != new:
            return
        self._gated(old, new, members)
        base = old
        for each in members:
            self.promises.hold("I02 on its base", each.sha("base") == base, f"#{each.pr}")
            base = each.sha("merged")
            self._member(each)
        self._in_turn(old, members)
        self._tallies(members)

    def _members(self, old: Sha, new: Sha) -> list[Landed]:
        """Return what the push landed, in order, by the receipts of its commits."""
        remote = self.hosting.remote
        texts = [remote.now.notes.get(sha) for sha in remote.objects.between(old, new)]
        receipts = [Receipt(text) for text in texts if text is not None]
        return [Landed(each, each.fields) for each in receipts]

    def _gated(self, old: Sha, new: Sha, members: Sequence[Landed]) -> None:
        """Hold that this very tree passed the gate that the trunk's own rules asked for."""
        objects = self.hosting.remote.objects
        policy = read(objects.commit(old).tree.get(RULES, ""))
        spec = policy.gate if policy else GateSpec((), 0.0)
        runs = [each for each in self.results.passes(new) if each.order.spec == spec]
        names = ", ".join(f"#{each.pr}" for each in members)
        self.promises.hold("I01 what lands was gated", runs, f"{names} {new}")
        for each in members:
            self.promises.hold("I01 by the rules in force", _spec(each) == spec.digest, names)
        group = [each.pr for each in members]
        said = [each.said["group"] for each in members]
        lone = len(group) == 1 and not said[0]
        self.promises.hold(
            "I14 a group names its members", lone or said == [group] * len(group), names
        )
        if spec.external.checks:
            green = any(self.ci.ever_green(each.order.merged, spec.external) for each in runs)
            self.promises.hold("I01 others' checks were green", green, f"{names} {new}")
        tree = objects.commit(new).tree
        self.promises.hold("I10 the trunk stays green", truth.green(tree), f"{names} {new}")

    def _member(self, landed: Landed) -> None:
        pr, head, new = landed.pr, landed.sha("head"), landed.sha("merged")
        stage = self.promises.stage
        stage.tell(f"LANDED #{pr} as {new[:7]}")
        tree = tree_id(self.hosting.remote.objects.commit(new).tree)
        self.promises.hold("I14 a receipt names its tree", landed.said["tree"] == tree, f"#{pr}")
        self._only_the_change(pr, landed.sha("base"), new, head)
        self._in_scope(pr, landed.sha("base"), new, head)
        self._authorised(pr, head, landed.said)
        self._as_recorded(pr, new)
        again = [each for each in self.landed if (each.pr, each.sha("head")) == (pr, head)]
        self.promises.hold("I06 at most once", not again, f"#{pr} at {head}")
        self.landed.append(landed)

    def _in_turn(self, old: Sha, members: Sequence[Landed]) -> None:
        """Hold that the receipts follow on each other and on those before."""
        before = self.landed[: -len(members)]
        was = before[-1].receipt.generation if before else 0
        now = {each.receipt.generation for each in members}
        rises = len(now) == 1 and min(now) > was
        self.promises.hold("I07 generations rise", rises, f"{now} after {was}")
        ends = self._ends_of_chain(old, before)
        for each in members:
            chained = each.said["previous"] in ends
            self.promises.hold("I14 receipts are chained", chained, f"#{each.pr}")
            ends = {each.receipt.digest}

    def _ends_of_chain(self, tip: Sha, before: Sequence[Landed]) -> set[str]:
        """Return what the next receipt may follow.

        Where Redis lost a landing that somebody then took off the trunk, only the notes know it.
        """
        last = before[-1].receipt.digest if before else ""
        if not self.forgiving:
            return {last}
        there = self.hosting.remote.objects.ancestors(tip)
        kept = [each.receipt.digest for each in before if each.sha("merged") in there]
        return {last, kept[-1] if kept else ""}

    def _only_the_change(self, pr: int, old: Sha, new: Sha, head: Sha) -> None:
        """Hold that each path changed as its author changed it, and no other did."""
        objects = self.hosting.remote.objects
        fork = objects.fork(old, head)
        own = {each.path for each in objects.changes(fork, head)} if fork else set()
        landed = {each.path for each in objects.changes(old, new)}
        self.promises.hold("I03 only the change", landed <= own, f"#{pr} {landed - own}")
        mine, theirs = objects.commit(head).tree, objects.commit(new).tree
        other = [path for path in landed if mine.get(path) != theirs.get(path)]
        self.promises.hold("I03 as it was written", not other, f"#{pr} {other}")

    def _in_scope(self, pr: int, old: Sha, new: Sha, head: Sha) -> None:
        """Hold the landing to its own claim, read in another way, and to what none covers here."""
        paths = [each.path for each in self.hosting.remote.objects.changes(old, new)]
        never = [path for path in paths if path.startswith(NEVER)]
        self.promises.hold("I05 inside its claim", not never, f"#{pr} {never}")
        body = self.hosting.pulls[pr].body
        claimed = re.findall(
            r'"([^"]+)"', "".join(re.findall(r"^claims = .*$", body, re.MULTILINE))
        )
        strays = [
            path for path in paths if not any(fnmatchcase(path, pattern) for pattern in claimed)
        ]
        inside = not strays or not body
        self.promises.hold("I05 inside what it says", inside, f"#{pr} {strays} {claimed}")
        by = self.asking.by_whom(pr, head)
        open_ = RULES not in paths or by >= Permission.ADMIN
        self.promises.hold("I05 protected paths by an admin", open_, f"#{pr} by {by.name}")

    def _authorised(self, pr: int, head: Sha, said: Mapping[str, object]) -> None:
        hold, asking = self.promises.hold, self.asking
        by = asking.by_whom(pr, head)
        hold("I04 somebody who may asked for this head", by >= Permission.WRITE, f"#{pr} {head}")
        job = self.promises.stage.current
        read_at = job.notes.get(f"pull {pr}") if job else None
        hold("I04 the PR was read", isinstance(read_at, float), f"#{pr}")
        if not isinstance(read_at, float):
            return
        pull = self.hosting.as_of(read_at).get(pr)
        right = pull is not None and _fit(pull, head)
        hold("I04 it was fit when it was read", right, f"#{pr} {pull}")
        asker = said["enqueued_by"]
        who = int(str(asker["id"])) if isinstance(asker, dict) else 0
        may = asking.may(who, read_at) >= Permission.WRITE
        hold("I04 who asked may still land", who == asking.bot.id or may, f"#{pr} {asker}")

    def _as_recorded(self, pr: int, new: Sha) -> None:
        candidate = self.candidate(pr)
        state = candidate.state if candidate else None
        intended = isinstance(state, Landing) and state.merge.merged == new
        if not self.forgiving:
            self.promises.hold("I07 pushed as the record says", intended, f"#{pr} is {state}")

    def _tallies(self, members: Sequence[Landed]) -> None:
        tally, first = self.promises.stage.tally, members[0].said["gate"]
        tally["landings"] += len(members)
        tally["landed in groups"] += len(members) if len(members) > 1 else 0
        if not isinstance(first, dict):
            return
        tested = first["tested"] != members[-1].sha("merged")
        steps = first["steps"]
        tally["landed by a kept verdict"] += tested
        tally["landed by a kept step"] += any(each["kept"] for each in steps)
        tally["landed by others' checks"] += any(each["name"].startswith("ci /") for each in steps)
        tally["landed by a flaky step"] += any(each["flaky"] for each in steps)


def _fit(pull: PullRequest, head: Sha) -> bool:
    labelled = QUEUE in pull.labels or FIX in pull.labels
    shape = not pull.closed and not pull.draft and pull.base == "main"
    return shape and labelled and pull.head == head


def _spec(landed: Landed) -> str:
    gate = landed.said.get("gate")
    return str(gate.get("spec")) if isinstance(gate, dict) else ""
