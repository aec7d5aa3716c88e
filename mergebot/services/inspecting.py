"""A doctor's comparisons: labels against queue against git.

Nothing here changes anything: each finding says what was found, what it means, and what happens by
itself or has to be done.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from mergebot.domain.candidate import Landing
from mergebot.domain.ids import Lane, Sha, short
from mergebot.domain.lane import Snapshot
from mergebot.domain.limits import IDLE_ALARM_S
from mergebot.domain.pulls import PullRequest
from mergebot.domain.receipts import Receipt
from mergebot.domain.views import idle_s
from mergebot.domain.watching import label_of
from mergebot.domain.wording import count, duration
from mergebot.ports.checkup import Checkup
from mergebot.ports.errors import Refused, Unavailable
from mergebot.ports.sandbox import Sandbox
from mergebot.services.admitting import queue_policy
from mergebot.services.examining import examine
from mergebot.services.findings import Finding
from mergebot.services.parts import Parts
from mergebot.services.repositories import git_of, repository_of
from mergebot.services.trunk import KNOWN_LANDINGS

BY_ITSELF = "nothing to do: the reconciler sees to it within a round"


def inspect(parts: Parts, checkup: Checkup, repo: str, *, sandbox: Sandbox) -> list[Finding]:
    """Return everything found about one repository; what cannot be asked is a finding too.

    `sandbox` is what its gates would run in on this host.
    """
    try:
        repository = repository_of(parts, repo)
    except (Unavailable, Refused) as error:
        advice = "check MERGEBOT_REPOS, the token, and that the bot may see it"
        return [Finding(repo, str(error), advice)]
    lane = next((each for each in parts.store.lanes() if each.repo_id == repository.id), None)
    found = [*_asked(repo, lambda: examine(parts, checkup, repo, sandbox=sandbox))]
    if lane is None:
        return [*found, Finding(repo, "it was never looked at", "start `mergebot up`")]
    return [*found, *_asked(repo, lambda: _compare(parts, lane))]


def _asked(repo: str, look: Callable[[], Iterator[Finding]]) -> list[Finding]:
    found: list[Finding] = []
    try:
        found.extend(look())
    except Unavailable as error:
        found.append(Finding(repo, str(error), "try again in a while"))
    except Refused as error:
        found.append(Finding(repo, str(error), "give the bot what it needs there"))
    return found


def _compare(parts: Parts, lane: Lane) -> Iterator[Finding]:
    snapshot = parts.store.read(lane)
    pulls = {pull.number: pull for pull in parts.forge.open_pulls(lane.repo)}
    git = git_of(parts, lane)
    tip = git.fetch(lane.trunk, []).trunk
    found = [*_lane_state(parts, snapshot), *_against_labels(snapshot, pulls)]
    found += _against_git(parts, snapshot, tip, git.receipts())
    yield from found
    if not found:
        size = count(len(snapshot.candidates), "open candidate")
        yield Finding(f"{lane.repo}: queue", f"labels, queue and git agree; {size}")


def _lane_state(parts: Parts, snapshot: Snapshot) -> Iterator[Finding]:
    lane, state = snapshot.lane, snapshot.state
    about = f"{lane.repo}: queue"
    if state.recovering:
        yield Finding(about, "it is being rebuilt; nothing lands meanwhile", BY_ITSELF)
    if state.halt is not None:
        yield Finding(about, f"halted: {state.halt.reason}", f"it ends when {state.halt.ends_when}")
    if state.waiting:
        yield Finding(about, f"it waits: {state.waiting}", "it goes on by itself")
    story = parts.store.story(lane, 0, limit=1)
    idle = idle_s(snapshot, story[-1].at if story else 0.0)
    if idle > IDLE_ALARM_S:
        text = f"it could move and did not for {duration(idle)}; {snapshot.slots} gate slots"
        yield Finding(about, text, "see that workers run; the reconciler rings them")
    for due in parts.store.lagging(lane):
        text = f"{due.effect.key} failed {count(due.tries, 'time')} and still waits"
        yield Finding(f"{lane.repo}: notices", text, "it is tried again by itself")


def _against_labels(snapshot: Snapshot, pulls: Mapping[int, PullRequest]) -> Iterator[Finding]:
    queue = queue_policy(snapshot)
    about = f"{snapshot.lane.repo}: labels and queue"
    for pull in pulls.values():
        labelled = {each for each in (queue.label, queue.fix_label) if pull.has(each)}
        if labelled and snapshot.candidate(pull.number) is None:
            text = f"#{pull.number} has the label {min(labelled)} and is not queued"
            yield Finding(about, text, BY_ITSELF)
    for candidate in snapshot.candidates:
        shown = pulls.get(candidate.pr)
        if isinstance(candidate.state, Landing):
            yield Finding(about, f"#{candidate.pr} is landing", "look again in a moment")
        elif shown is None:
            yield Finding(about, f"#{candidate.pr} is queued and not open", BY_ITSELF)
        elif not shown.has(label_of(candidate.kind, queue)):
            yield Finding(about, f"#{candidate.pr} is queued without its label", BY_ITSELF)
        elif shown.head != candidate.head:
            text = f"#{candidate.pr} is queued at {short(candidate.head)}, its head is {short(shown.head)}"
            yield Finding(about, text, BY_ITSELF)


def _against_git(
    parts: Parts, snapshot: Snapshot, tip: Sha | None, notes: Mapping[Sha, Receipt]
) -> Iterator[Finding]:
    about = f"{snapshot.lane.repo}: queue and git"
    if tip != snapshot.tip:
        shown = [short(each) if each else "nothing" for each in (tip, snapshot.tip)]
        yield Finding(about, f"the trunk is at {shown[0]}, the queue knows {shown[1]}", BY_ITSELF)
    recorded = parts.store.landings(snapshot.lane, limit=KNOWN_LANDINGS)
    ours = _of_lane(snapshot.lane, notes.values())
    known, on_git = {each.digest for each in recorded}, {each.digest for each in ours}
    if lost := on_git - known if len(recorded) < KNOWN_LANDINGS else set():
        text = f"the record lacks {count(len(lost), 'landing')} that git has receipts of"
        yield Finding(about, text, BY_ITSELF)
    if gone := known - on_git:
        text = f"git lacks {count(len(gone), 'receipt')} of the record"
        yield Finding(about, text, "refs/notes/mergebot was rewritten: restore it")
    previous = {str(each.fields.get("previous", "")) for each in ours}
    if broken := previous - on_git - {""}:
        text = f"{count(len(broken), 'receipt')} that others refer to cannot be found"
        yield Finding(about, text, "refs/notes/mergebot lost history: restore it")


def _of_lane(lane: Lane, receipts: Iterable[Receipt]) -> list[Receipt]:
    return [each for each in receipts if each.fields.get("trunk") == lane.trunk]
