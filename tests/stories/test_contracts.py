from mergebot.domain.commands import Stance
from mergebot.domain.contracts import Said, files_of, revision
from mergebot.domain.policy import Policy
from mergebot.domain.pulls import Permission
from mergebot.domain.reasons import Reason
from tests.support.world import KIM, LANE, RULES, World

OWNED = RULES + '\n[contracts.readiness]\npaths = ["app"]\nowners = ["@kim"]\n'


def waiting() -> tuple[World, int]:
    world = World(OWNED, {"app": "0"})
    pr = world.opens_pr({"app": "1"})
    world.labels(pr)
    world.runs_until_quiet()
    assert world.ended(pr) == ("parked", Reason.STALE_CONTRACT)
    return world, pr


def test_a_change_of_a_contract_lands_once_its_owner_agrees() -> None:
    world, pr = waiting()
    world.says(pr, "@mergebot agree readiness", KIM)
    world.runs_until_quiet()
    assert world.landed == [pr]


def test_an_answer_that_was_recorded_and_not_acted_on_counts_when_it_is_given_again() -> None:
    world, pr = waiting()
    policy = world.lane.rules.policy
    assert isinstance(policy, Policy)
    git = world.parts.mirrors.of(world.parts.forge.repository(LANE.repo))
    about = revision(files_of(policy.contracts[0], git.files(world.pull(pr).head)))
    word = Said(pr, "readiness", about, Stance.AGREE, KIM, Permission.MAINTAIN, 0.0)
    world.parts.ledger.say(LANE, word)
    world.runs_until_quiet()
    assert world.state(pr) == "parked"
    world.says(pr, "@mergebot agree readiness", KIM)
    world.runs_until_quiet()
    assert world.landed == [pr]
