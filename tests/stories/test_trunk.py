import json

import pytest

from mergebot.adapters.memory.git import MemoryGit
from mergebot.adapters.memory.store import MemoryStore
from mergebot.domain.candidate import Landing
from mergebot.domain.lane import Green, Red, Snapshot
from mergebot.domain.reasons import Reason
from mergebot.ports.errors import Unavailable
from mergebot.ports.git import Push, PushOutcome
from mergebot.ports.store import Commit
from tests.simulation.loss import Kept, keep, put_back
from tests.support.world import ADA, FIX, KIM, LANE, RULES, World


def red_world() -> World:
    world = World()
    world.gates.red = {"bad"}
    world.pushes_to_trunk({"bad": "1"})
    world.runs_until_quiet()
    assert isinstance(world.lane.health, Red)
    return world


def test_a_direct_push_is_noticed_and_gated_before_anything_lands_on_it() -> None:
    world = World()
    pr = world.opens_pr()
    pushed = world.pushes_to_trunk({"direct": "1"})
    world.labels(pr)
    world.runs_until_quiet()
    assert pushed in world.gates.ran
    assert world.landed == [pr]
    assert {"direct", f"file-{pr}"} <= set(world.trunk)


def test_nothing_lands_on_a_red_trunk_and_nobody_is_blamed_for_it() -> None:
    world = red_world()
    pr = world.opens_pr()
    world.labels(pr)
    world.runs_until_quiet()
    assert world.ended(pr) == ("parked", Reason.TRUNK_RED)
    assert world.candidate(pr).budget.failures == 0
    assert world.landed == []


def test_a_repair_lands_on_a_red_trunk_and_those_who_waited_go_on_by_themselves() -> None:
    world = red_world()
    waiting = world.opens_pr()
    world.labels(waiting)
    repair = world.opens_pr({"bad": None})
    world.labels(repair, FIX, who=KIM)
    world.runs_until_quiet()
    assert world.landed == [repair, waiting]
    assert isinstance(world.lane.health, Green)


def test_the_repair_lane_needs_more_than_write_permission() -> None:
    world = red_world()
    repair = world.opens_pr({"bad": None})
    world.labels(repair, FIX)
    world.runs_until_quiet()
    assert world.ended(repair) == ("ejected", Reason.NOT_PERMITTED)


def test_a_repair_that_does_not_repair_is_ejected_and_the_next_may_try() -> None:
    world = red_world()
    useless, repair = world.opens_pr({"more": "1"}), world.opens_pr({"bad": None})
    world.labels(useless, FIX, who=KIM)
    world.runs_until_quiet()
    world.labels(repair, FIX, who=KIM)
    world.runs_until_quiet()
    assert world.ended(useless) == ("ejected", Reason.GATE_FAILED)
    assert world.landed == [repair]


def test_the_first_bad_commit_is_found_by_bisection() -> None:
    world = World()
    world.gates.red = {"bad"}
    world.loses_webhooks()
    for path in ("one", "two"):
        world.pushes_to_trunk({path: "1"})
    culprit = world.pushes_to_trunk({"bad": "1"})
    world.pushes_to_trunk({"three": "1"})
    world.reconciles()
    world.runs_until_quiet()
    health = world.lane.health
    assert isinstance(health, Red)
    assert health.suspects == (culprit,)


def test_a_halt_stops_everybody_until_somebody_resumes() -> None:
    world = World()
    pr = world.opens_pr()
    world.says(pr, "@mergebot halt a release is being cut", who=KIM)
    world.labels(pr)
    world.runs_until_quiet()
    assert world.landed == []
    world.says(pr, "@mergebot resume it is out", who=KIM)
    world.runs_until_quiet()
    assert world.landed == [pr]


def test_a_trunk_that_was_rewritten_halts() -> None:
    world = World()
    before = world.tip
    world.pushes_to_trunk({"one": "1"})
    world.runs_until_quiet()
    world.rewinds_trunk_to(world.commits({"other": "1"}, on=before))
    world.runs_until_quiet()
    assert world.lane.halt is not None


@pytest.mark.parametrize("method", ["rebase", "merge"])
def test_what_stands_on_a_landing_that_was_taken_off_the_trunk_does_not_bring_it_back(
    method: str,
) -> None:
    world = World(f'[queue]\nmethod = "{method}"\n{RULES}')
    before, taken_off = world.tip, world.opens_pr()
    world.labels(taken_off)
    world.runs_until_quiet()
    upon = world.opens_pr()
    world.rewinds_trunk_to(before)
    halted_over_rewind(world)
    world.labels(upon)
    world.says(upon, "@mergebot resume it was taken off on purpose", who=ADA)
    world.runs_until_quiet()
    assert world.ended(upon) == ("ejected", Reason.CONFLICT)
    assert f"file-{taken_off}" not in world.trunk
    assert world.landed == [taken_off]


def test_what_stands_on_a_landing_lands_where_the_rewind_was_undone_before_its_push(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(f'[queue]\nmethod = "rebase"\n{RULES}')
    before, first = world.tip, world.opens_pr()
    world.labels(first)
    world.runs_until_quiet()
    after, upon = world.tip, world.opens_pr()
    world.rewinds_trunk_to(before)
    halted_over_rewind(world)
    push_landing = MemoryGit.push_landing

    def undone(self: MemoryGit, push: Push) -> PushOutcome:
        monkeypatch.setattr(MemoryGit, "push_landing", push_landing)
        world.rewinds_trunk_to(after)
        return push_landing(self, push)

    monkeypatch.setattr(MemoryGit, "push_landing", undone)
    world.labels(upon)
    world.says(upon, "@mergebot resume it was taken off on purpose", who=ADA)
    world.runs_until_quiet()
    assert world.landed == [first, upon]
    assert f"file-{upon}" in world.trunk


def halted_over_rewind(world: World) -> None:
    world.reconciles()
    world.clock.advance(world.clock.now() + 90)
    world.reconciles()
    assert world.lane.halt is not None


def test_a_trunk_that_only_looks_older_is_looked_at_again_first() -> None:
    world = World()
    before = world.tip
    world.pushes_to_trunk({"one": "1"})
    world.runs_until_quiet()
    world.rewinds_trunk_to(before)
    world.reconciles()
    assert world.lane.halt is None
    world.clock.advance(world.clock.now() + 90)
    world.reconciles()
    assert world.lane.halt is not None


def test_new_rules_hold_from_the_commit_that_brings_them() -> None:
    world = World()
    body = '```mergebot\ntask = "T-1"\nclaims = [".mergebot.toml"]\n```\n'
    rules = world.trunk[".mergebot.toml"] + "[claims]\nrequired = true\n"
    changed = world.opens_pr({".mergebot.toml": rules}, body=body)
    behind = world.opens_pr()
    world.labels(changed, who=ADA)
    world.labels(behind)
    world.runs_until_quiet()
    assert world.landed == [changed]
    assert world.ended(behind) == ("ejected", Reason.CLAIM_MISSING)


def test_a_lost_record_is_rebuilt_from_receipts_and_labels() -> None:
    world = World()
    done, waiting = world.opens_pr(), world.opens_pr()
    world.labels(done)
    world.runs_until_quiet()
    world.labels(waiting, "merge-queue-hold")
    world.labels(waiting)
    world.runs_until_quiet()
    before = world.store.landings(LANE, limit=9)
    world.store.__init__(world.clock, world.runs)  # type: ignore[misc]  # an emptied Redis
    world.reconciles()
    world.runs_until_quiet()
    assert list(world.store.landings(LANE, limit=9)) == list(before)
    assert world.ended(waiting) == ("parked", Reason.HELD)


@pytest.mark.parametrize("branch", ["stays", "was moved by the landing"])
def test_a_landing_that_was_taken_off_the_trunk_and_that_the_record_forgot_is_not_made_again(
    monkeypatch: pytest.MonkeyPatch, branch: str
) -> None:
    world = World()
    pr = world.opens_pr()
    base = world.tip if branch == "stays" else world.pushes_to_trunk({"meanwhile": "1"})
    world.runs_until_quiet()
    redis = (world.store, world.runs)
    before: list[Kept] = []
    commit, push_landing = MemoryStore.commit, MemoryGit.push_landing

    def remembered(self: MemoryStore, snapshot: Snapshot, change: Commit) -> Snapshot:
        if any(isinstance(each.state, Landing) for each in change.candidates) and not before:
            before.append(keep(redis))
        return commit(self, snapshot, change)

    def forgotten(self: MemoryGit, push: Push) -> PushOutcome:
        if len(before) > 1:
            return push_landing(self, push)
        assert push_landing(self, push) is PushOutcome.LANDED
        world.rewinds_trunk_to(base)
        put_back(redis, before[0])
        before.append(keep(redis))
        raise Unavailable("the record is what it was before")

    monkeypatch.setattr(MemoryStore, "commit", remembered)
    monkeypatch.setattr(MemoryGit, "push_landing", forgotten)
    world.labels(pr)
    for _ in range(3):
        while world.rings:
            world.answers(world.rings.popleft())
        world.clock.advance(world.clock.now() + 20)
        world.reconciles()
    assert world.state(pr) == "landed"
    assert world.tip == base
    assert world.landed == [pr]


def test_a_commit_with_the_receipt_of_another_trunk_is_sent_back_once() -> None:
    world = World()
    pr, before = world.opens_pr(), world.tip
    head = world.pull(pr).head
    note = {"v": 1, "repo": "o/r", "pr": 99, "trunk": "release", "merged": head, "generation": 1}
    world.remote.move(ADA, {}, {head: json.dumps(note)})
    world.labels(pr)
    world.runs_until_quiet()
    assert world.ended(pr) == ("ejected", Reason.ALREADY_LANDED)
    assert 'landed on "release" and has its receipt' in str(world.told(pr)[-1]["text"])
    assert world.tip == before
    assert not world.lane.recovering
