from mergebot.domain.candidate import Ejected, Landed
from mergebot.domain.reasons import Reason
from tests.support.village import ALICE, BOB, GATE, LANE, Village

GROUPS = f'[queue]\nbatch = "auto"\n{GATE}'


def village(*, workers: int = 2, rules: str = GROUPS) -> Village:
    found = Village(rules=rules)
    found.runs.announce("gate", workers, found.clock.now())
    return found


def queue(there: Village, *prs: int) -> None:
    """Label several pull requests before anybody hears of the first."""
    for pr in prs:
        there.hosting.add_label(ALICE, pr, "merge-queue")
    there.settle()


def landed(there: Village, *prs: int) -> bool:
    return all(isinstance(there.candidate(pr).state, Landed) for pr in prs)


def runs_of(there: Village, *prs: int) -> set[object]:
    receipts = {each.fields["pr"]: each.fields for each in there.store.landings(LANE, limit=99)}
    gates = [receipts[pr]["gate"] for pr in prs]
    return {gate["run"] for gate in gates if isinstance(gate, dict)}


def test_a_group_lands_in_order_with_a_receipt_and_a_note_for_each() -> None:
    there = village()
    prs = [there.propose({f"f{n}": "1"}) for n in range(6)]
    before = len(there.remote.moves)
    queue(there, *prs)
    assert landed(there, *prs)
    assert len(runs_of(there, *prs)) < len(prs)
    trunk = [move for move in there.remote.moves[before:] if moves_trunk(move)]
    assert len(trunk) == len(runs_of(there, *prs))
    notes = there.remote.now.notes
    states = [there.candidate(pr).state for pr in prs]
    assert all(state.merge.merged in notes for state in states if isinstance(state, Landed))


def moves_trunk(move: object) -> bool:
    return any(ref.ref == "refs/heads/main" for ref in getattr(move, "refs", ()))


def test_the_receipts_of_a_group_name_its_members_and_are_chained() -> None:
    there = village()
    prs = [there.propose({f"f{n}": "1"}) for n in range(6)]
    queue(there, *prs)
    receipts = list(reversed(there.store.landings(LANE, limit=99)))
    assert [each.fields["pr"] for each in receipts] == prs
    previous = [each.fields["previous"] for each in receipts[1:]]
    assert previous == [each.digest for each in receipts[:-1]]
    group = receipts[0].fields["group"]
    assert isinstance(group, list)
    assert group[0] == prs[0]
    assert len(group) > 1


def test_each_branch_of_a_group_moves_to_the_commit_that_landed_for_it() -> None:
    there = village()
    prs = [there.propose({f"f{n}": "1"}) for n in range(4)]
    queue(there, *prs)
    for pr in prs:
        state = there.candidate(pr).state
        assert isinstance(state, Landed)
        assert there.remote.head(f"branch-{pr}") == state.merge.merged


def test_a_red_member_is_ejected_and_the_rest_of_its_group_lands() -> None:
    there = village()
    prs = [there.propose({"broken" if n == 2 else f"f{n}": "1"}) for n in range(6)]
    queue(there, *prs)
    state = there.candidate(prs[2]).state
    assert isinstance(state, Ejected)
    assert state.reason is Reason.GATE_FAILED
    assert landed(there, *(pr for pr in prs if pr != prs[2]))
    assert "broken" not in there.remote.objects.commit(there.tip).tree


def test_a_lone_worker_lands_a_backlog_by_one_gate() -> None:
    there = village(workers=1)
    there.runs.announce("gate", 1, there.clock.now())
    prs = [there.propose({f"f{n}": "1"}) for n in range(5)]
    queue(there, *prs)
    assert landed(there, *prs)
    assert len(runs_of(there, *prs)) == 1


def test_a_member_that_was_pushed_to_at_the_last_moment_does_not_take_the_others_down() -> None:
    there = village(workers=1)
    prs = [there.propose({f"f{n}": "1"}) for n in range(3)]
    for pr in prs:
        there.hosting.add_label(ALICE, pr, "merge-queue")
    pushed = there.remote.commit({**there.remote.objects.commit(there.tip).tree, "x": "1"}, "Later")
    there.hosting.push(BOB, prs[1], pushed)
    there.settle()
    assert landed(there, prs[0], prs[2])
    assert not landed(there, prs[1])


def test_the_lane_says_how_it_works() -> None:
    there = village()
    queue(there, *(there.propose({f"f{n}": "1"}) for n in range(6)))
    assert there.store.read(LANE).state.mode


def test_without_groups_each_commit_on_the_trunk_was_gated_itself() -> None:
    there = village(rules=GATE)
    prs = [there.propose({f"f{n}": "1"}) for n in range(6)]
    queue(there, *prs)
    assert len(runs_of(there, *prs)) == len(prs)
