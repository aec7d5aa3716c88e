from dataclasses import replace
from itertools import product

import pytest

from mergebot.domain.audit import (
    Branch,
    Choice,
    Decided,
    Doubt,
    Facts,
    Flag,
    Free,
    Keep,
    Local,
    Ticket,
    Worktree,
    judge,
)
from mergebot.domain.ids import Sha
from mergebot.domain.ledger import Active, Change, Parked, Suspect
from mergebot.ports.errors import Refused
from mergebot.ports.ledger import HostReport
from mergebot.services.auditing import audit, decide_local, looked_over
from mergebot.services.claim_desk import report_view
from tests.support.builders import NOW, sha
from tests.support.claims import claim
from tests.support.village import BOB, GATE, LANE, Village

DAY_S = 86400.0
LOCAL = Local("hawk", "/w/1", sha("local"), dirty=False, ahead=2)
FACTS = Facts(Ticket.CLOSED, Branch.MERGED, (), False, 0.0, ("ticket closed", "branch merged"))
HELD = claim("a", "A-1", "src/**")


def verdict_of(facts: Facts, *decided: Decided, now: float = NOW) -> object:
    return judge(HELD, facts, decided, now=now, suspect_after_s=DAY_S)


BRANCHES = (Branch.NONE, Branch.MERGED, Branch.EQUIVALENT, Branch.AHEAD, Branch.LOCAL)
ROWS = list(product((Ticket.OPEN, Ticket.CLOSED), BRANCHES, (False, True), (False, True)))


@pytest.mark.parametrize(("ticket", "branch", "dirty", "queued"), ROWS)
def test_only_rows_in_which_all_sources_agree_are_freed(
    *, ticket: Ticket, branch: Branch, dirty: bool, queued: bool
) -> None:
    local = (replace(LOCAL, dirty=dirty, ahead=int(branch is Branch.LOCAL)),)
    work = local if dirty or branch is Branch.LOCAL else ()
    facts = replace(FACTS, ticket=ticket, branch=branch, local=work, queued=queued)
    gone = branch in {Branch.NONE, Branch.MERGED, Branch.EQUIVALENT}
    agrees = ticket is Ticket.CLOSED and gone and not dirty and not queued
    assert isinstance(verdict_of(facts), Free) == agrees


def test_an_unknown_ticket_frees_nothing() -> None:
    assert isinstance(verdict_of(replace(FACTS, ticket=Ticket.UNKNOWN)), Keep)
    assert isinstance(verdict_of(replace(FACTS, branch=Branch.UNKNOWN)), Keep)


def test_the_later_of_claim_and_commit_starts_the_clock() -> None:
    still_open = replace(FACTS, ticket=Ticket.OPEN)
    later = NOW + 2 * DAY_S
    assert isinstance(verdict_of(still_open, now=later), Doubt)
    assert isinstance(verdict_of(replace(still_open, last_commit_at=later - 60), now=later), Keep)


def test_a_decision_counts_only_for_the_very_work_it_was_made_about() -> None:
    facts = replace(FACTS, branch=Branch.LOCAL, local=(LOCAL,))
    decided = Decided("a", Choice.ABANDON, LOCAL.head, "mia", "superseded", NOW)
    assert isinstance(verdict_of(facts), Flag)
    assert isinstance(verdict_of(facts, decided), Free)
    assert isinstance(verdict_of(facts, replace(decided, head=sha("other"))), Flag)
    assert isinstance(verdict_of(facts, replace(decided, choice=Choice.PUSH)), Flag)


def ten_cells() -> Village:
    """The field's pool: five done, three open, one parked prototype, one local-only branch."""
    village = Village(rules=GATE + "[claims]\npool = 10\n")
    tip = village.tip
    tree = village.remote.objects.commit(tip).tree
    merged = village.remote.commit({**tree, "one": "1"}, "One", tip)
    squashed = village.remote.commit({**tree, "two": "2"}, "Two", tip)
    landed = village.remote.commit({**tree, "one": "1", "two": "2"}, "Two, squashed", merged)
    ahead = village.remote.commit({**tree, "three": "3"}, "Three", tip)
    village.remote.push(BOB, "main", landed)
    for name, head in (("cell-1", merged), ("cell-2", squashed), ("cell-6", ahead)):
        village.remote.push(BOB, name, head)
    village.hosting.issues.update({100 + n: n <= 5 or n == 10 for n in range(1, 11)})
    claims = [
        replace(claim(f"c{n}", f"#{100 + n}", f"cell{n}/**"), branch=f"cell-{n}")
        for n in range(1, 11)
    ]
    claims[8] = replace(claims[8], state=Parked("mia", "prototype", NOW + 30 * DAY_S))
    village.ledgers.commit(village.ledger, Change(tuple(claims), ()))
    tree_10 = Worktree("/agents/10", "cell-10", LOCAL.head, dirty=False, ahead=3)
    village.ledgers.report(LANE, HostReport("hawk", NOW, (tree_10,)))
    village.settle()
    return village


def test_the_ten_cells_of_the_field() -> None:
    village = ten_cells()
    view = report_view(audit(village.parts, LANE))
    assert view["freed"] == ["c1", "c2", "c3", "c4", "c5"]
    assert view["flagged"] == ["c10"]
    assert sorted(str(name) for name in _list(view["kept"])) == ["c10", "c6", "c7", "c8", "c9"]
    assert (view["usable_before"], view["usable_after"]) == (0, 5)
    pool = view["after"]
    assert pool == {"size": 10, "active": 4, "parked": 1, "suspect": 0, "free": 5}


def test_once_the_local_branch_was_decided_on_six_cells_are_free_and_nothing_was_deleted() -> None:
    village = ten_cells()
    audit(village.parts, LANE)
    decided = Decided("c10", Choice.ABANDON, Sha(""), "mia", "superseded by cell 3", NOW)
    decide_local(village.parts, LANE, decided)
    report = audit(village.parts, LANE)
    assert (report.after.active, report.after.parked, report.after.free) == (3, 1, 6)
    (host,) = village.ledgers.reports(LANE)
    assert [tree.branch for tree in host.worktrees] == ["cell-10"]
    (recorded,) = village.ledgers.decisions(LANE)
    assert (recorded.by, recorded.head) == ("mia", LOCAL.head)


def test_a_dry_run_frees_nothing() -> None:
    village = ten_cells()
    report = looked_over(village.parts, LANE)
    assert sum(isinstance(item.verdict, Free) for item in report.items) == 5
    assert len(village.ledger.claims) == 10


def test_an_audit_of_a_month_later_still_frees_only_what_agrees() -> None:
    village = ten_cells()
    village.clock.advance(village.clock.now() + 30 * DAY_S)
    report = audit(village.parts, LANE)
    assert report.after.free == 5
    states = {name: type(each.state) for name, each in village.ledger.claims.items()}
    assert states == {"c6": Suspect, "c7": Suspect, "c8": Suspect, "c9": Parked, "c10": Active}


def test_a_claim_that_changes_while_it_is_looked_at_keeps_its_state() -> None:
    village = ten_cells()
    report = looked_over(village.parts, LANE)
    assert isinstance(report.items[0].verdict, Free)
    fresh = replace(village.ledger.claims["c1"], generation=9)
    village.ledgers.commit(village.ledger, Change((fresh,), ()))
    village.hosting.issues[101] = False
    audit(village.parts, LANE)
    assert village.ledger.claims["c1"].live


def test_a_decision_needs_work_that_some_host_reported() -> None:
    village = ten_cells()
    decided = Decided("c6", Choice.ABANDON, Sha(""), "mia", "", NOW)
    with pytest.raises(Refused, match="no host reports local work"):
        decide_local(village.parts, LANE, decided)


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value
