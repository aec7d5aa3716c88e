"""Liveness: when everything has come to rest, and whether it rests as it should."""

import re

from mergebot.adapters.memory.hosting import Hosting
from mergebot.adapters.memory.inbox import MemoryInbox
from mergebot.adapters.memory.store import MemoryStore
from mergebot.domain.candidate import Cancelled, Candidate, Parked
from mergebot.domain.ids import Actor, Lane
from mergebot.domain.lane import Green
from mergebot.domain.pulls import PullRequest
from mergebot.domain.reasons import Reason
from mergebot.domain.status import read_hidden_line, reason_of, state_name
from tests.simulation import truth
from tests.simulation.office import Office
from tests.simulation.people import FIX, QUEUE

_END = re.compile("<!-- attempt .*: ejected -->")
MAY_WAIT = frozenset({Reason.HELD, Reason.NOT_READY})


def works(inbox: MemoryInbox, office: Office, store: MemoryStore, lane: Lane) -> bool:
    """Tell whether something is on its way, whatever the record says; much less to ask."""
    return bool(office.tasks or inbox.depth() or store.due_effects(lane, float("inf"), limit=1))


def unfinished(store: MemoryStore, inbox: MemoryInbox, office: Office, lane: Lane) -> list[str]:
    """Return what still has to happen, as far as the record knows."""
    snapshot = store.read(lane)
    waits = [
        f"#{each.pr} is {each.state}"
        for each in snapshot.candidates
        if not (isinstance(each.state, Parked) and each.state.reason in MAY_WAIT)
    ]
    if inbox.depth():
        waits.append("deliveries wait")
    if office.tasks:
        waits.append(f"rings wait: {list(office.tasks)}")
    if snapshot.state.unsure:
        waits.append(f"comments are looked at again: {snapshot.state.unsure}")
    if store.due_effects(lane, float("inf"), limit=1):
        waits.append(f"effects wait: {store.due_effects(lane, float('inf'), limit=9)}")
    if not isinstance(snapshot.state.health, Green):
        waits.append(f"the trunk is {snapshot.state.health}")
    if snapshot.state.behind_since:
        waits.append("the trunk looks older than it was")
    if snapshot.state.halt or snapshot.state.waiting:
        waits.append(f"the lane waits: {snapshot.state.halt or snapshot.state.waiting}")
    return waits


def ends_badly(
    hosting: Hosting, store: MemoryStore, lane: Lane, bot: Actor, *, lossy: bool
) -> list[str]:
    """Return what is not as it should be, once everything rests; `lossy` says that Redis fell."""
    faults = []
    snapshot = store.read(lane)
    tip = hosting.remote.head(lane.trunk)
    if tip != snapshot.tip:
        faults.append(f"I08 the trunk is known: {snapshot.tip} is not {tip}")
    if tip and not truth.green(hosting.remote.objects.commit(tip).tree):
        faults.append(f"I10 the trunk is green: {tip}")
    for pull in hosting.pulls.values():
        faults += _pull(pull, snapshot.candidate(pull.number), store.latest(lane, pull.number))
        latest = store.latest(lane, pull.number)
        if latest is not None:
            faults += _comment(hosting, pull, latest, bot, lossy=lossy)
    return faults


def _pull(pull: PullRequest, candidate: Candidate | None, latest: Candidate | None) -> list[str]:
    labelled = QUEUE in pull.labels or FIX in pull.labels
    if candidate is None and labelled and not pull.closed:
        return [f"I08 a label is a candidate: #{pull.number}, last {latest and latest.state}"]
    if candidate is not None and not labelled:
        return [f"I08 a candidate has its label: #{pull.number} is {candidate.state}"]
    return []


def _comment(
    hosting: Hosting, pull: PullRequest, latest: Candidate, bot: Actor, *, lossy: bool
) -> list[str]:
    mine = [
        each.body
        for each in hosting.comments.values()
        if each.pr == pull.number and each.author == bot
    ]
    ends = [line for body in mine for line in body.split("\n") if _END.match(line)]
    if len(ends) != len(set(ends)):
        return [f"I06 one comment for each end: #{pull.number} {ends}"]
    documents = [read_hidden_line(body) for body in mine]
    said = [each for each in documents if each is not None]
    want = (state_name(latest.state), latest.attempt, reason_of(latest.state))
    if not said:
        return [f"I08 its author is told: #{pull.number} {want}"]
    found = [(each["state"], each["attempt"], each["reason"]) for each in said]
    # What a new head would meet is more use to its author than how the old one ended.
    withdrawn = pull.head != latest.head or isinstance(latest.state, Cancelled)
    early = withdrawn and any(state == "open" for state, _, _ in found)
    # Redis may have lost an attempt that its author has heard of.
    later = lossy and any(int(str(attempt)) > latest.attempt for _, attempt, _ in found)
    if early or later or want in found:
        return []
    return [f"I08 its author is told: #{pull.number} {want}, not {found}"]
