from mergebot.domain.candidate import Ejected, GateEvidence, Kind
from mergebot.domain.ids import Actor
from mergebot.domain.pulls import Permission
from mergebot.domain.reasons import Reason
from mergebot.ports.forge import CheckState
from tests.support.world import BOT, FIX, HOLD, KIM, QUEUE, RAY, RULES, World


def test_a_labelled_change_lands_as_the_commit_that_was_gated() -> None:
    world = World()
    pr = world.opens_pr()
    world.pushes_to_trunk({"meanwhile": "1"})
    world.labels(pr)
    world.runs_until_quiet()
    assert world.landed == [pr]
    assert world.tip == world.gates.ran[-1]
    assert world.pull(pr).merged
    assert [each["state"] for each in world.told(pr)] == ["landed"]


def test_landings_follow_the_order_of_admission() -> None:
    world = World()
    prs = [world.opens_pr() for _ in range(4)]
    for pr in reversed(prs):
        world.labels(pr)
    world.runs_until_quiet()
    assert world.landed == prs[::-1]


def test_every_landing_has_a_receipt_on_git_chained_to_the_one_before() -> None:
    world = World()
    prs = [world.opens_pr() for _ in range(3)]
    for pr in prs:
        world.labels(pr)
    world.runs_until_quiet()
    receipts = list(world.parts.mirrors.of(world.hosting.repository).receipts().values())
    assert [each.fields["pr"] for each in receipts] == prs
    assert [each.fields["previous"] for each in receipts[1:]] == [
        each.digest for each in receipts[:-1]
    ]


def test_a_label_that_is_told_of_twice_makes_one_candidate() -> None:
    world = World()
    pr = world.opens_pr()
    world.labels(pr)
    delivery = world.inbox.take(limit=9)[-1]
    world.inbox.put("again", delivery.event, delivery.body)
    world.runs_until_quiet()
    assert world.landed == [pr]
    assert world.candidate(pr).attempt == 1


def test_a_label_that_the_repository_spells_in_another_case_is_the_same_label() -> None:
    world = World()
    held, pr = world.opens_pr(), world.opens_pr()
    world.labels(held, HOLD.upper())
    world.labels(held, QUEUE.title())
    world.labels(pr, QUEUE)
    world.runs_until_quiet()
    assert world.landed == [pr]
    world.unlabels(held, HOLD)
    world.runs_until_quiet()
    assert world.landed == [pr, held]
    assert world.pull(held).labels == ()


def test_a_label_in_another_case_is_found_though_its_webhook_was_lost() -> None:
    world = World()
    pr = world.opens_pr()
    world.loses_webhooks()
    world.clock.advance(world.clock.now() + 5)
    world.labels(pr, QUEUE.upper())
    world.reconciles()
    world.runs_until_quiet()
    assert world.landed == [pr]


def test_with_every_webhook_lost_it_is_slower_and_not_wrong() -> None:
    world = World()
    pr = world.opens_pr()
    world.loses_webhooks()
    world.clock.advance(world.clock.now() + 5)
    world.labels(pr)
    world.reconciles()
    world.runs_until_quiet()
    assert world.landed == [pr]


def test_a_head_that_was_pushed_after_a_label_nobody_heard_of_does_not_land() -> None:
    world = World()
    pr = world.opens_pr()
    world.loses_webhooks()
    world.labels(pr)
    world.clock.advance(world.clock.now() + 5)
    world.pushes(pr, {"unseen": "1"})
    world.clock.advance(world.clock.now() + 30)
    for _ in range(3):
        world.reconciles()
        world.runs_until_quiet()
    assert world.ended(pr) == ("cancelled", Reason.HEAD_CHANGED)
    assert "unseen" not in world.trunk
    assert QUEUE not in world.pull(pr).labels


def test_two_changes_that_are_green_alone_and_red_together_do_not_both_land() -> None:
    world = World()
    world.gates.clashing = {frozenset({"left", "right"})}
    left, right = world.opens_pr({"left": "1"}), world.opens_pr({"right": "1"})
    world.labels(left)
    world.labels(right)
    world.runs_until_quiet()
    assert world.landed == [left]
    assert world.ended(right) == ("ejected", Reason.GATE_FAILED)


def test_the_same_red_head_is_not_gated_again_without_a_reason() -> None:
    world = World()
    world.gates.red = {"bad"}
    pr = world.opens_pr({"bad": "1"})
    world.labels(pr)
    world.runs_until_quiet()
    ran = list(world.gates.ran)
    world.labels(pr)
    world.runs_until_quiet()
    assert world.gates.ran == ran
    again = world.candidate(pr).state
    assert isinstance(again, Ejected)
    assert isinstance(again.evidence, GateEvidence), "asking again loses no evidence"
    world.gates.red = set()
    world.says(pr, "@mergebot retry the mirror was down")
    world.runs_until_quiet()
    assert world.landed == [pr]


def test_a_budget_that_is_spent_asks_a_person_and_a_maintainer_gives_a_new_one() -> None:
    world = World('[budget]\nfailures = 1\n[[gate.steps]]\nname = "test"\nrun = "make test"\n')
    world.gates.red = {"bad"}
    pr = world.opens_pr({"bad": "1"})
    world.labels(pr)
    world.runs_until_quiet()
    world.pushes(pr, {"bad": None, "good": "1"})
    world.labels(pr)
    world.runs_until_quiet()
    assert world.ended(pr) == ("ejected", Reason.BUDGET_SPENT)
    world.says(pr, "@mergebot retry it is fixed now")
    world.runs_until_quiet()
    assert world.ended(pr) == ("ejected", Reason.BUDGET_SPENT)
    assert "maintain permission" in str(world.told(pr)[-1]["text"])
    world.says(pr, "@mergebot retry it is fixed now", who=KIM)
    world.runs_until_quiet()
    assert world.landed == [pr]


def test_whoever_retries_without_end_spends_the_budget_all_the_same() -> None:
    world = World()
    world.gates.red = {"bad"}
    pr = world.opens_pr({"bad": "1"})
    world.labels(pr)
    world.runs_until_quiet()
    for _ in range(8):
        world.says(pr, "@mergebot retry it was the weather")
        world.runs_until_quiet()
        world.reconciles()
    assert world.ended(pr) == ("ejected", Reason.BUDGET_SPENT)
    assert world.candidate(pr).budget.failures == 3
    said = [each.body for each in world.hosting.comments.values()]
    assert sum("This needs a person" in each for each in said) == 1


def test_a_repair_that_is_tried_again_stays_a_repair_while_the_trunk_is_red() -> None:
    world = World()
    world.gates.red = {"bad"}
    pr = world.opens_pr({"good": "1"})
    world.pushes_to_trunk({"bad": "1"})
    world.runs_until_quiet()
    world.labels(pr, FIX, who=KIM)
    world.runs_until_quiet()
    assert world.ended(pr) == ("ejected", Reason.GATE_FAILED)
    world.gates.red = set()
    world.says(pr, "@mergebot retry the mirror was down", who=KIM)
    world.runs_until_quiet()
    assert world.candidate(pr).kind is Kind.REPAIR
    assert world.landed == [pr]


def test_a_command_sets_the_label_and_is_answered() -> None:
    world = World()
    pr = world.opens_pr()
    comment = world.says(pr, "@mergebot queue")
    world.runs_until_quiet()
    assert world.landed == [pr]
    assert world.hosting.reactions[comment] == {"+1"}
    assert world.hosting.labels[pr][-1].event.actor == BOT


def test_a_command_does_not_queue_a_head_that_was_pushed_after_it() -> None:
    world = World()
    pr = world.opens_pr()
    world.says(pr, "@mergebot queue", who=KIM)
    world.pushes(pr, {"unseen": "1"})
    world.runs_until_quiet()
    assert world.landed == []
    assert QUEUE not in world.pull(pr).labels


def test_whoever_may_write_may_queue_and_yet_not_stop_everybody() -> None:
    world = World()
    pr = world.opens_pr()
    writer = Actor(77, "wes")
    world.hosting.people[writer.id] = Permission.WRITE
    refused = world.says(pr, "@mergebot halt because", who=writer)
    world.runs_until_quiet()
    assert world.lane.halt is None
    assert world.hosting.reactions[refused] == {"confused"}
    world.says(pr, "@mergebot queue", who=writer)
    world.runs_until_quiet()
    assert world.landed == [pr]


def test_a_reader_commands_nothing_but_may_ask() -> None:
    world = World()
    pr = world.opens_pr()
    refused = world.says(pr, "@mergebot halt because", who=RAY)
    world.runs_until_quiet()
    assert world.lane.halt is None
    assert world.hosting.reactions[refused] == {"confused"}


def test_a_permission_that_was_lost_ends_the_candidate_before_it_lands() -> None:
    world = World()
    pr = world.opens_pr()
    world.labels(pr, "merge-queue-hold", who=KIM)
    world.labels(pr)
    world.runs_until_quiet()
    del world.hosting.people[12]
    world.unlabels(pr, "merge-queue-hold", who=KIM)
    world.runs_until_quiet()
    assert world.ended(pr) == ("cancelled", Reason.NOT_PERMITTED)
    assert world.landed == []


def test_an_odd_delivery_does_not_stop_the_inbox() -> None:
    world = World()
    world.inbox.put("odd", "event", b"no JSON at all")
    pr = world.opens_pr()
    world.labels(pr)
    world.runs_until_quiet()
    assert world.landed == [pr]
    assert world.inbox.depth() == 0


def test_a_change_whose_branch_may_not_be_moved_lands_and_is_closed() -> None:
    world = World()
    pr = world.opens_pr()
    world.remote.protected.add(f"refs/heads/{world.pull(pr).head_branch}")
    head = world.pull(pr).head
    world.pushes_to_trunk({"meanwhile": "1"})
    world.labels(pr)
    world.runs_until_quiet()
    assert world.landed == [pr]
    assert (world.state(pr), world.pull(pr).head) == ("landed", head)
    assert world.pull(pr).closed
    assert not world.pull(pr).merged
    assert world.hosting.checks[head].state is CheckState.SUCCESS


def test_a_change_that_is_merged_shows_its_landing_on_the_head_that_its_branch_keeps() -> None:
    world = World(f'[queue]\nmethod = "merge"\n{RULES}')
    pr = world.opens_pr()
    head = world.pull(pr).head
    world.pushes_to_trunk({"meanwhile": "1"})
    world.labels(pr)
    world.runs_until_quiet()
    assert (world.state(pr), world.pull(pr).head) == ("landed", head)
    assert world.hosting.checks[head].state is CheckState.SUCCESS
