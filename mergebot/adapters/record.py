"""What every store makes of a commit, whatever it keeps its records in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from mergebot.domain.candidate import Candidate, runs_of
from mergebot.domain.capacity import UNKNOWN_CORES, Cores, Host
from mergebot.domain.gate import Failed, GateResult, Passed
from mergebot.domain.lane import Checking, LaneState, Red, Run, Snapshot
from mergebot.domain.limits import LOG_BYTES_MAX, WORKER_SILENT_S
from mergebot.ports.store import Commit

ENDED_MAX = 10_000
"""Ended candidates listed per lane: ten days at a thousand a day; the newest per PR stays anyway."""

LANDINGS_MAX = 10_000
"""Receipts listed per lane; git keeps all of them."""

STORY_MAX = 500
"""Entries of one PR's story: a hundred attempts, more than anybody reads."""

LEDGER_ENDED_MAX = 10_000
"""Ended claims listed per repository; each landing's receipt names its claim for ever."""

NOTES_MAX = 10_000
"""Lines of the ledger's story: who claimed, parked, reclaimed and released what."""

DECISIONS_MAX = 2_000
"""Recorded decisions about local work, and words on one pull request's contracts."""

COSTS_MAX = 10_000
"""Reported costs kept per repository: days of a fleet, of which the ceiling looks at one."""

SAYINGS_KEEP_S = 180 * 24 * 3600
"""How long words on contracts outlive the last one: half a year, in which every review ends."""

ONCE_KEEP_S = 30 * 24 * 3600
"""How long a topic counts as told."""

GUID_KEEP_S = 7 * 24 * 3600
"""How long a delivery is known again: GitHub offers redelivery for three days."""

USUAL_SAMPLES = 20
"""Passes of a step that its usual time rests on."""


@dataclass(frozen=True, slots=True)
class Heard:
    """What a worker host said last, and what recent gates of a lane asked for of its cores."""

    slots: int
    at: float
    cores: Cores = UNKNOWN_CORES
    asks: tuple[float, ...] = ()


def slots_heard(workers: Sequence[Heard], now: float) -> int:
    """Return the sum of the slots of the worker hosts that were heard of lately."""
    return sum(each.slots for each in _lately(workers, now))


def hosts_heard(workers: Sequence[Heard], now: float) -> tuple[Host, ...]:
    """Return the hosts heard of lately whose cores are known; workers may share one."""
    found: dict[str, Host] = {}
    for each in _lately(workers, now):
        cores = each.cores
        if cores.key and each.slots:
            known = found.get(cores.key)
            slots = each.slots + (known.slots if known else 0)
            asks = tuple(filter(isfinite, each.asks))
            found[cores.key] = Host(cores.key, cores.host, slots, cores.count, asks)
    return tuple(sorted(found.values(), key=lambda each: (each.name, each.key)))


def _lately(workers: Sequence[Heard], now: float) -> list[Heard]:
    return [each for each in workers if each.at >= now - WORKER_SILENT_S]


def identity(candidate: Candidate) -> str:
    """Return what tells a candidate from every other of its lane."""
    return f"{candidate.pr}:{candidate.head}:{candidate.attempt}"


def leaves(snapshot: Snapshot, ended: Candidate) -> bool:
    """Tell whether an ended candidate takes its PR out of the queue.

    It does not where a newer attempt of the same PR is open.
    """
    present = snapshot.candidate(ended.pr)
    return present is None or identity(present) == identity(ended)


def references(state: LaneState, candidates: tuple[Candidate, ...]) -> frozenset[str]:
    """Return the runs that the lane's health or an open candidate speaks of."""
    match state.health:
        case Checking(run=run):
            health = [run]
        case Red(run=run, probe=probe):
            health = [run, probe]
        case _:
            health = []
    runs = frozenset(health).union(*(runs_of(candidate) for candidate in candidates))
    return frozenset(run for run in runs if run)


def committed(snapshot: Snapshot, commit: Commit) -> Snapshot:
    """Return what a reader finds right after `commit` was written at `snapshot`."""
    queue = {candidate.pr: candidate for candidate in snapshot.candidates}
    for candidate in commit.candidates:
        if not candidate.open and leaves(snapshot, candidate):
            queue.pop(candidate.pr, None)
    queue |= {candidate.pr: candidate for candidate in commit.candidates if candidate.open}
    candidates = tuple(sorted(queue.values(), key=place))
    runs: Mapping[str, Run] = {
        **{order.run: Run(order) for order in commit.orders},
        **snapshot.runs,
    }
    used = references(commit.state, candidates)
    return replace(
        snapshot,
        revision=snapshot.revision + 1,
        state=commit.state,
        candidates=candidates,
        runs={name: run for name, run in runs.items() if name in used},
    )


def place(candidate: Candidate) -> tuple[int, int]:
    """Return what the queue is ordered by."""
    return candidate.seq, candidate.pr


def log_view(head: bytes, tail: bytes, *, cut: int, offset: int) -> tuple[bytes, int]:
    """Return a log from `offset` on, and the offset of its end.

    `cut` bytes are missing between `head` and `tail`. Of the tail no more than half the cap is
    shown, however much of it happens to be kept.
    """
    half = LOG_BYTES_MAX // 2
    end = len(head) + cut + len(tail)
    shown = tail[-half:]
    resume = end - len(shown)
    offset = max(offset, 0)
    left_out = resume - max(offset, len(head))
    if left_out > 0:
        marker = f"\n[... {left_out} bytes left out ...]\n".encode()
        return head[offset:] + marker + shown, end
    return head[offset:] + shown[max(offset - resume, 0) :], max(end, offset)


def passes(result: GateResult) -> list[tuple[str, float]]:
    """Return the steps of a run that ran and passed, with their seconds."""
    steps = result.steps if isinstance(result, Passed | Failed) else ()
    ran = (step for step in steps if not step.kept)
    return [(step.name, step.seconds) for step in ran if step.exit_code == 0]


def failure(result: GateResult) -> str:
    """Return the name of the step that failed, "" where none did."""
    return result.step.name if isinstance(result, Failed) else ""
