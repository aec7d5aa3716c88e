"""The trunk's health: the verdict for its exact tip, and what follows when it is red."""

from mergebot.domain.decision import Decision
from mergebot.domain.external import COMMAND, AllGreen, Awaited, OneRed
from mergebot.domain.gate import Failed, NoVerdict, Passed
from mergebot.domain.ids import Sha, short
from mergebot.domain.lane import Checking, Green, Red, RedTip, Run, Snapshot, UnknownHealth
from mergebot.domain.limits import (
    GREENS_MAX,
    INFRA_WAIT_S,
    INFRA_WAIT_S_MAX,
    REDS_MAX,
    RUN_SILENT_S,
)
from mergebot.domain.wording import DAY_S, count


def tip_moved(decision: Decision, tip: Sha, how: str) -> Decision:
    """Account for a tip that mergebot did not land: nothing is known about it."""
    state = decision.snapshot.state
    if state.known_tip == tip:
        return decision
    decision = _leave(decision)
    if tip in state.greens:
        decision = decision.lane(health=Green(tip, decision.snapshot.now))
    else:
        decision = decision.lane(health=UnknownHealth(tip))
    return decision.lane(known_tip=tip).tell("trunk", f"{how}: the tip is {short(tip)} now")


def tip_landed(decision: Decision, tip: Sha) -> Decision:
    """Account for a tip that mergebot gated and landed: it is green from its gate."""
    state = _leave(decision).snapshot.state
    greens = (*state.greens, tip)[-GREENS_MAX:]
    health = Green(tip, decision.snapshot.now)
    return _leave(decision).lane(known_tip=tip, health=health, greens=greens)


def tip_kept(decision: Decision, tip: Sha, tested: Sha) -> Decision:
    """Account for a tip whose tree passed the same gate before, as the commit `tested`."""
    state = decision.snapshot.state
    greens = (*state.greens, tip)[-GREENS_MAX:]
    decision = decision.lane(health=Green(tip, decision.snapshot.now), greens=greens)
    text = f"the trunk is green at {short(tip)}: its tree was green before as {short(tested)}"
    return decision.tell("trunk", f"{text}, no gate is needed")


def settle_trunk(decision: Decision) -> Decision:
    """Apply the result of the run on the tip, or of the one that bisects."""
    snapshot = decision.snapshot
    match snapshot.state.health:
        case Checking(tip, run):
            return _settle_check(decision, tip, run)
        case Red(probe=probe) as red if probe:
            return _settle_probe(decision, red, probe)
        case _:
            return decision


def heard_outside(decision: Decision, tip: Sha, found: Awaited | AllGreen | OneRed) -> Decision:
    """Apply what others' checks say now about a tip whose health was decided.

    A green tip goes red by one red check. One that a check made red is green once all are.
    """
    state = decision.snapshot.state
    match state.health, found:
        case Green(known), OneRed(check) if known == tip:
            greens = tuple(each for each in state.greens if each != tip)
            red = Red(tip, decision.snapshot.now, "", check.name, COMMAND)
            text = f"the trunk is red at {short(tip)}: the check {check.name} failed there"
            return _turned_red(decision, red).lane(greens=greens).tell("trunk", text)
        case Red(known, command=command), AllGreen() if (known, command) == (tip, COMMAND):
            greens = (*state.greens, tip)[-GREENS_MAX:]
            green = Green(tip, decision.snapshot.now)
            text = f"the trunk is green at {short(tip)}: all its checks are green now"
            return _leave(decision).lane(health=green, greens=greens).tell("trunk", text)
        case _:
            return decision


def reds_within_a_day(snapshot: Snapshot) -> int:
    """Return at how many tips the trunk was red within the last 24 hours."""
    return sum(each.at > snapshot.now - DAY_S for each in snapshot.state.reds)


def red_tips(reds: int) -> str:
    """Say at how many tips the trunk was red within a day."""
    return f"the trunk was red at {count(reds, 'tip')} within 24 hours"


def first_bad(red: Red) -> Sha | None:
    """Return the first bad commit once it is known."""
    return red.suspects[0] if len(red.suspects) == 1 else None


def _settle_check(decision: Decision, tip: Sha, name: str) -> Decision:
    snapshot = decision.snapshot
    run = snapshot.runs.get(name)
    match None if run is None else run.result:
        case Passed():
            greens = (*snapshot.state.greens, tip)[-GREENS_MAX:]
            decision = decision.lane(health=Green(tip, snapshot.now), greens=greens)
            return decision.tell("trunk", f"the trunk is green at {short(tip)}")
        case Failed() as failed:
            red = Red(tip, snapshot.now, name, failed.step.name, failed.step.command)
            text = f"the trunk is red at {short(tip)}: {failed.step.name} fails"
            return _turned_red(decision, red).tell("trunk", text)
        case NoVerdict(why):
            return _check_again(decision, tip, why)
        case None:
            return (
                _check_again(decision, tip, "its run is lost") if _lost(run, snapshot) else decision
            )


def _turned_red(decision: Decision, red: Red) -> Decision:
    """Take in that the tip is red, and remember for a day that it was."""
    since = red.since - DAY_S
    reds = [
        each for each in decision.snapshot.state.reds if each.at > since and each.tip != red.tip
    ]
    return decision.lane(health=red, reds=(*reds, RedTip(red.tip, red.since))[-REDS_MAX:])


def _settle_probe(decision: Decision, red: Red, name: str) -> Decision:
    snapshot = decision.snapshot
    run = snapshot.runs.get(name)
    probed = red.probed
    at = red.suspects.index(probed) if probed in red.suspects else -1
    match None if run is None else run.result:
        case Passed():
            return _narrow(decision, red, suspects=red.suspects[at + 1 :], last_green=probed)
        case Failed():
            return _narrow(
                decision, red, suspects=red.suspects[: at + 1], last_green=red.last_green
            )
        case NoVerdict():
            return _narrow(decision, red, suspects=red.suspects, last_green=red.last_green)
        case None:
            if not _lost(run, snapshot):
                return decision
            return _narrow(decision, red, suspects=red.suspects, last_green=red.last_green)


def _narrow(
    decision: Decision, red: Red, *, suspects: tuple[Sha, ...], last_green: Sha | None
) -> Decision:
    narrowed = Red(
        tip=red.tip,
        since=red.since,
        run=red.run,
        step=red.step,
        command=red.command,
        last_green=last_green,
        suspects=suspects,
    )
    decision = decision.lane(health=narrowed)
    culprit = first_bad(narrowed)
    if culprit is None:
        return decision
    return decision.tell("trunk", f"the first bad commit is {short(culprit)}")


def _check_again(decision: Decision, tip: Sha, why: str) -> Decision:
    health = decision.snapshot.state.health
    tries = health.tries + 1 if isinstance(health, Checking) else 1
    wait = min(INFRA_WAIT_S * 2 ** (tries - 1), INFRA_WAIT_S_MAX)
    text = f"no verdict on the trunk's tip: {why}"
    again = UnknownHealth(tip, decision.snapshot.now + wait, text, tries)
    return decision.lane(health=again).tell("trunk", f"{text}; tried again in {wait:.0f} s")


def _lost(run: Run | None, snapshot: Snapshot) -> bool:
    if run is None:
        return True
    beat = run.progress.beat
    return bool(beat) and snapshot.now - beat > RUN_SILENT_S


def _leave(decision: Decision) -> Decision:
    """Stop the run on a tip that is not the tip any more."""
    match decision.snapshot.state.health:
        case Checking(run=run):
            return decision.stop(run)
        case Red(probe=probe) if probe:
            return decision.stop(probe)
        case _:
            return decision
