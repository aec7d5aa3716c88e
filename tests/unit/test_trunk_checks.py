from dataclasses import replace

from mergebot.domain.decision import Decision
from mergebot.domain.external import COMMAND, AllGreen, Awaited, CheckSeen, OneRed, Outcome
from mergebot.domain.gate import ExternalChecks
from mergebot.domain.health import heard_outside
from mergebot.domain.lane import Green, Red, Rules, Snapshot
from mergebot.domain.planning import plan
from mergebot.domain.policy import HealthPolicy, Policy
from tests.support.builders import NOW, POLICY, TIP, sha, snapshot

BAD = OneRed(CheckSeen("ci", "ci / test", 7, Outcome.FAILED))
OUTSIDE = Red(TIP, NOW, "", "ci / test", COMMAND)


def after(lane: Snapshot, found: Awaited | AllGreen | OneRed) -> Snapshot:
    return heard_outside(Decision(lane), TIP, found).snapshot


def asking(check: str) -> Policy:
    gate = replace(POLICY.gate, setup="make deps", external=ExternalChecks(("ci / test",)))
    return replace(POLICY, gate=gate, health=HealthPolicy(check))


def test_a_landed_tip_is_green_until_a_check_reports_red_on_it() -> None:
    lane = snapshot()
    assert after(lane, Awaited(("ci / test",), ())) == lane
    assert after(lane, AllGreen()) == lane
    state = after(lane, BAD).state
    assert (state.health, state.greens) == (OUTSIDE, ())


def test_what_a_check_made_red_is_green_once_all_are() -> None:
    state = after(snapshot(health=OUTSIDE, greens=()), AllGreen()).state
    assert (state.health, state.greens) == (Green(TIP, NOW), (TIP,))


def test_what_the_gates_own_steps_made_red_no_check_makes_green() -> None:
    lane = snapshot(health=Red(TIP, NOW, "run", "test", "make test"), greens=())
    assert after(lane, AllGreen()) == lane


def test_checks_of_another_tip_change_nothing() -> None:
    lane = snapshot(health=Green(sha("other"), NOW))
    assert after(lane, BAD) == lane


def test_the_trunk_has_to_pass_what_the_rules_say() -> None:
    own, outside, both = (asking(check).trunk_gate for check in ("gate", "external", "both"))
    assert (bool(own.steps), own.external.checks) == (True, ())
    assert (outside.steps, outside.setup, outside.external.checks) == ((), "", ("ci / test",))
    assert both == asking("both").gate
    assert asking("both").own_gate == own
    assert POLICY.trunk_gate == POLICY.gate


def test_a_gate_of_others_checks_alone_takes_no_tip_for_green_unheard() -> None:
    for check in ("gate", "external", "both"):
        rules = asking(check)
        lone = replace(rules, gate=replace(rules.gate, steps=()))
        assert lone.trunk_check == "external"
        assert lone.trunk_gate.external.checks == ("ci / test",)


def test_where_the_gate_has_no_steps_of_its_own_only_others_can_call_the_trunk_red() -> None:
    lone = asking("gate")
    lone = replace(lone, gate=replace(lone.gate, steps=()))
    assert lone.asks_others_about_trunk
    assert not asking("gate").asks_others_about_trunk
    suspects = (sha("one"), sha("two"), TIP)
    red = replace(OUTSIDE, suspects=suspects)
    assert plan(snapshot(health=red, rules=Rules(TIP, lone))) == ()
    assert plan(snapshot(health=red, rules=Rules(TIP, asking("gate")))) != ()
