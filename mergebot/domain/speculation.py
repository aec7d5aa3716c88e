"""How much is gated at once, and how: chosen from the load that is seen, and shown.

Where every commit has to be gated itself (`batch = 1`), candidates form a chain over a window of
twice the workers. Where groups are allowed, a group is formed as late as possible, when a worker
is free, and takes a worker's share of all that is undecided, running or not: one candidate while
there are no more of them than workers, and soon two once there are. With one worker there is
nothing to speculate with: everything that waits is one group, and a red one is halved. Slots that
share cores with others do not count as workers (capacity.py): no more gates run than count.
"""

from dataclasses import dataclass

from mergebot.domain.candidate import Candidate, Verified
from mergebot.domain.lane import Snapshot
from mergebot.domain.limits import GROUP_AUTO_MAX, GROUP_LONE_WORKER_MAX

AUTO = 0


@dataclass(frozen=True, slots=True)
class Pace:
    """How far the planner goes.

    `window` candidates at the front of the queue are looked at; at most `runs` runs are unfinished
    at once, over at most `nodes` groups in the chain, of at most `size` candidates each; `cap` is
    the largest group that the rules allow.
    """

    window: int
    runs: int
    nodes: int
    size: int
    cap: int
    text: str


def window(snapshot: Snapshot) -> int:
    """Return how many candidates may be gated at once: twice the workers unless the rules say."""
    return _fixed(snapshot) or max(2, 2 * snapshot.capacity.counted)


def most_runs(snapshot: Snapshot) -> int:
    """Return how many runs may ever be unfinished, also where fewer slots count than before."""
    return 2 * (_fixed(snapshot) or max(2, 2 * snapshot.slots))


def pace(snapshot: Snapshot, ready: tuple[Candidate, ...]) -> Pace:
    """Return how to go on with the candidates that are ready now."""
    capacity = snapshot.capacity
    depth = window(snapshot)
    policy = snapshot.policy
    batch = policy.queue.batch if policy else 1
    unlimited = len(ready) + 1
    most = capacity.counted if capacity.shared and not _fixed(snapshot) else unlimited
    if batch == 1:
        text = f"a chain of up to {depth}, each candidate gated by itself"
        text += f", {capacity.counted} at once" if most < unlimited else ""
        return Pace(depth, most, unlimited, 1, 1, text)
    undecided = sum(not isinstance(each.state, Verified) for each in ready)
    if min(capacity.counted, depth) <= 1:
        size = batch if batch != AUTO else GROUP_LONE_WORKER_MAX
        text = "one group at a time, halved when it is red: there is one worker"
        text += " that shares no cores" if capacity.shared else ""
        return Pace(unlimited, 1, 1, size, size, text)
    cap = batch if batch != AUTO else GROUP_AUTO_MAX
    workers = max(1, min(capacity.counted, depth))
    size = max(1, min(cap, -(-undecided // workers)))
    if size == 1:
        text = "a chain, each candidate gated by itself: there is no backlog"
        return Pace(unlimited, min(depth, most), depth, 1, cap, text)
    text = f"a chain of groups of up to {size}, with as many in flight as there are workers"
    return Pace(unlimited, workers, depth, size, cap, text)


def _fixed(snapshot: Snapshot) -> int:
    return snapshot.policy.queue.window if snapshot.policy else 0
