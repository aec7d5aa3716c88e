import pytest

from mergebot.domain.reasons import Reason
from tests.support.world import ADA, KIM, QUEUE, RAY, RULES, World

CLAIM = '```mergebot\ntask = "T-{n}"\nclaims = [{patterns}]\n```\n'


def claim(*patterns: str, n: int = 1) -> str:
    return CLAIM.format(n=n, patterns=", ".join(f'"{each}"' for each in patterns))


def after_labelling(world: World, pr: int) -> tuple[str, Reason | None]:
    world.labels(pr, who=KIM)
    world.runs_until_quiet()
    return world.ended(pr)


def test_what_does_not_merge_is_ejected_with_the_files_that_clash() -> None:
    world = World(files={"app": "1"})
    first, second = world.opens_pr({"app": "2"}), world.opens_pr({"app": "3"})
    world.labels(first)
    assert after_labelling(world, second) == ("ejected", Reason.CONFLICT)
    assert world.told(second)[-1]["conflicts"] == ["app"]


def test_a_red_change_is_ejected_and_the_one_behind_it_still_lands() -> None:
    world = World()
    red, good = world.opens_pr({"bad": "1"}), world.opens_pr()
    world.gates.red = {"bad"}
    world.labels(red)
    world.labels(good)
    world.runs_until_quiet()
    assert world.ended(red) == ("ejected", Reason.GATE_FAILED)
    assert world.landed == [good]


def test_no_comment_goes_on_saying_that_a_failed_change_is_tested() -> None:
    world = World()
    red = world.opens_pr({"bad": "1"})
    world.gates.red = {"bad"}
    assert after_labelling(world, red) == ("ejected", Reason.GATE_FAILED)
    assert [each["state"] for each in world.told(red)] == ["ejected"]


def test_a_gate_that_does_not_end_is_told_apart_from_one_that_fails() -> None:
    world = World()
    pr = world.opens_pr({"slow": "1"})
    world.gates.slow = {"slow"}
    assert after_labelling(world, pr) == ("ejected", Reason.GATE_TIMEOUT)


def test_a_change_outside_its_claim_never_reaches_the_gate() -> None:
    world = World()
    pr = world.opens_pr({"src/a": "1", "elsewhere": "1"}, body=claim("src/**"))
    ran = len(world.gates.ran)
    assert after_labelling(world, pr) == ("ejected", Reason.OUT_OF_SCOPE)
    assert world.told(pr)[-1]["strayed"] == ["elsewhere"]
    assert len(world.gates.ran) == ran


def test_a_protected_path_needs_a_literal_claim_and_an_admin() -> None:
    world = World()
    body = claim(".github/ci")
    first = world.opens_pr({".github/ci": "1"}, body=body)
    assert after_labelling(world, first) == ("ejected", Reason.PROTECTED_PATH)
    world.labels(first, who=ADA)
    world.runs_until_quiet()
    assert world.landed == [first]


def test_merge_commits_whose_content_a_rebase_would_lose_are_refused() -> None:
    world = World()
    pr = world.opens_pr({"a": "1"})
    side = world.commits({"b": "1"}, on=world.tip)
    head = world.commits({"b": "1", "evil": "1"}, on=world.pull(pr).head, also=side)
    world.hosting.push(KIM, pr, head)
    assert after_labelling(world, pr) == ("ejected", Reason.MERGE_COMMITS)


def test_a_name_that_no_checkout_should_hold_is_forbidden() -> None:
    world = World()
    pr = world.opens_pr({"-rf": "1"})
    assert after_labelling(world, pr) == ("ejected", Reason.FORBIDDEN_CONTENT)


def test_a_pull_request_that_changes_nothing_is_told_so() -> None:
    world = World()
    pr = world.opens_pr({})
    world.pushes_to_trunk({"meanwhile": "1"})
    assert after_labelling(world, pr) == ("ejected", Reason.EMPTY)


def test_where_claims_are_required_one_without_is_refused() -> None:
    world = World(RULES + "[claims]\nrequired = true\n")
    pr = world.opens_pr()
    assert after_labelling(world, pr) == ("ejected", Reason.CLAIM_MISSING)


def test_two_live_claims_never_overlap() -> None:
    world = World()
    first = world.opens_pr({"src/a": "1"}, body=claim("src/**", n=1))
    second = world.opens_pr({"src/b": "1"}, body=claim("src/b", n=2))
    world.labels(first, "merge-queue-hold")
    world.labels(first)
    assert after_labelling(world, second) == ("ejected", Reason.CLAIM_OVERLAP)


def test_a_reader_may_not_queue() -> None:
    world = World()
    pr = world.opens_pr()
    world.labels(pr, who=RAY)
    world.runs_until_quiet()
    assert world.ended(pr) == ("ejected", Reason.NOT_PERMITTED)
    assert QUEUE not in world.pull(pr).labels


def test_a_trunk_that_the_forge_protects_ends_the_candidate_with_the_forges_words() -> None:
    world = World()
    pr = world.opens_pr()
    world.remote.protected.add("refs/heads/main")
    assert after_labelling(world, pr) == ("ejected", Reason.BRANCH_RULES)


def test_a_change_that_breaks_the_rules_is_refused_before_it_lands() -> None:
    world = World()
    pr = world.opens_pr({".mergebot.toml": "[wrong]\n"}, body=claim(".mergebot.toml"))
    world.labels(pr, who=ADA)
    world.runs_until_quiet()
    assert world.ended(pr) == ("ejected", Reason.INVALID_CONFIG)


@pytest.mark.parametrize("rules", ["", '[queue]\nmethod = "squash"\n'])
def test_a_change_that_would_take_the_gate_away_never_reaches_it(rules: str) -> None:
    world = World()
    pr = world.opens_pr({".mergebot.toml": rules}, body=claim(".mergebot.toml"))
    ran = len(world.gates.ran)
    world.labels(pr, who=ADA)
    world.runs_until_quiet()
    assert world.ended(pr) == ("ejected", Reason.INVALID_CONFIG)
    assert "without a gate" in str(world.told(pr)[-1]["text"])
    assert len(world.gates.ran) == ran


@pytest.mark.parametrize(
    ("action", "fields", "reason"),
    [
        ("closed", {"closed": True}, Reason.CLOSED),
        ("converted_to_draft", {"draft": True}, Reason.DRAFT),
        ("edited", {"base": "other"}, Reason.BASE_CHANGED),
    ],
)
def test_a_candidate_that_is_taken_back_is_cancelled(
    action: str, fields: dict[str, object], reason: Reason
) -> None:
    world = World()
    pr = world.opens_pr()
    world.labels(pr, "merge-queue-hold")
    world.labels(pr)
    world.runs_until_quiet()
    world.changes(pr, action, **fields)
    world.runs_until_quiet()
    assert world.ended(pr) == ("cancelled", reason)
    assert world.landed == []


def test_a_push_after_the_label_cancels_and_a_new_label_takes_the_new_head() -> None:
    world = World()
    pr = world.opens_pr()
    world.labels(pr)
    head = world.pushes(pr, {"more": "1"})
    world.runs_until_quiet()
    assert world.ended(pr) == ("cancelled", Reason.HEAD_CHANGED)
    world.labels(pr)
    world.runs_until_quiet()
    assert world.landed == [pr]
    assert world.candidate(pr).head == head


def test_taking_the_label_off_cancels() -> None:
    world = World()
    pr = world.opens_pr()
    world.labels(pr, "merge-queue-hold")
    world.labels(pr)
    world.runs_until_quiet()
    world.unlabels(pr)
    world.runs_until_quiet()
    assert world.ended(pr) == ("cancelled", Reason.LABEL_REMOVED)


def test_a_held_candidate_keeps_its_place_and_goes_on_when_it_is_let_go() -> None:
    world = World()
    held, other = world.opens_pr(), world.opens_pr()
    world.labels(held, "merge-queue-hold")
    world.labels(held)
    world.labels(other)
    world.runs_until_quiet()
    assert (world.ended(held), world.landed) == (("parked", Reason.HELD), [other])
    world.unlabels(held, "merge-queue-hold")
    world.runs_until_quiet()
    assert world.landed == [other, held]


def test_an_approval_that_is_missing_parks_until_it_comes() -> None:
    world = World("[queue]\nrequire_approvals = 1\n" + RULES)
    pr = world.opens_pr()
    assert after_labelling(world, pr) == ("parked", Reason.NOT_READY)
    world.approves(pr)
    world.runs_until_quiet()
    assert world.landed == [pr]


def test_a_gate_without_a_verdict_is_tried_again_and_spends_no_failure() -> None:
    world = World()
    pr = world.opens_pr()
    world.gates.silent = 2
    world.labels(pr)
    world.runs_until_quiet()
    assert world.landed == [pr]
    assert (world.candidate(pr).budget.failures, world.candidate(pr).budget.infra) == (0, 2)


def test_after_too_many_gates_without_a_verdict_a_person_is_asked() -> None:
    world = World()
    pr = world.opens_pr()
    world.gates.silent = 9
    assert after_labelling(world, pr) == ("ejected", Reason.BUDGET_SPENT)


def test_what_is_on_the_trunk_already_lands_no_second_time() -> None:
    world = World()
    first, twin = world.opens_pr({"a": "1"}), world.opens_pr({"a": "1"})
    world.labels(first)
    assert after_labelling(world, twin) == ("ejected", Reason.ALREADY_LANDED)
    assert world.landed == [first]


def test_a_fork_lands_only_where_the_rules_take_forks() -> None:
    closed, open_to_forks = World(), World("[queue]\nfork_pull_requests = true\n" + RULES)
    for world in (closed, open_to_forks):
        world.labels(world.opens_pr(fork=True))
        world.runs_until_quiet()
    assert closed.ended(1) == ("ejected", Reason.NOT_PERMITTED)
    assert open_to_forks.landed == [1]


def test_a_repository_without_a_gate_is_told_the_smallest_file() -> None:
    world = World("")
    pr = world.opens_pr()
    assert after_labelling(world, pr) == ("ejected", Reason.INVALID_CONFIG)
    assert "gate.steps" in str(world.told(pr)[-1]["text"])
