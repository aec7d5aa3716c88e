"""What pages and API show, read from the record: the page's facts are the JSON's facts."""

from codecs import getincrementaldecoder
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mergebot.domain.candidate import (
    Cancelled,
    Candidate,
    Ejected,
    GateEvidence,
    Landed,
    Landing,
    ScopeEvidence,
    Verified,
    run_of,
)
from mergebot.domain.gate import StepResult
from mergebot.domain.ids import Lane
from mergebot.domain.lane import Snapshot
from mergebot.domain.markdown import plain
from mergebot.domain.receipts import Receipt
from mergebot.domain.status import Document, Setting
from mergebot.domain.story import AUDIT, Entry
from mergebot.domain.views import (
    Scene,
    counts_view,
    ended_at,
    entry_view,
    halted_view,
    idle_s,
    matches,
    planner_view,
    policy_view,
    recovered_view,
    scene,
    seconds_in_queue,
    trunk_view,
    waiting_view,
)
from mergebot.domain.wording import iso
from mergebot.ports.basics import Clock
from mergebot.ports.runs import Logs, Runs
from mergebot.ports.store import Store
from mergebot.services.statistics import gate_run

RECENT = 8
"""Landings and ejections beside the queue: what a glance takes in."""

LOOK_BACK = 200
"""Ended candidates that are read for titles and recent ejections."""

AUDIT_MAX = 500
"""Deeds by hand that are shown: all that the record keeps."""

STORY_MAX = 200
"""Entries of a PR's story on its page."""


@dataclass(frozen=True, slots=True)
class Find:
    """Which entries are asked for: those that match `words`, one page of `size`, from page 1."""

    words: str = ""
    page: int = 1
    size: int = 50


@dataclass(frozen=True, slots=True)
class Reporting:
    """Reads the record for doors that show it; changes nothing.

    Pages lie below `base_url`, and repositories are cloned from below `forge_url`.
    """

    store: Store
    runs: Runs
    logs: Logs
    clock: Clock
    base_url: str
    forge_url: str = ""

    def overview(self, lanes: Sequence[Lane]) -> Document:
        """Return every lane's health and counts."""
        return {"at": iso(self.clock.now()), "lanes": [self._lane(lane) for lane in lanes]}

    def _lane(self, lane: Lane) -> Document:
        snapshot = self.store.read(lane)
        return self._head(snapshot) | {"repo": lane.repo, "idle_s": self._idle_s(snapshot)}

    def queue(self, lane: Lane, find: Find) -> Document:
        """Return one page of the queue, and what stands around it."""
        snapshot = self.store.read(lane)
        seen = self._scene(snapshot)
        found = [each for each in seen.order if matches(each, find.words)]
        pages = max(-(-len(found) // find.size), 1)
        page = min(max(find.page, 1), pages)
        shown = found[(page - 1) * find.size : page * find.size]
        return self._head(snapshot) | {
            "repo": lane.repo,
            "entries": [entry_view(each, seen) for each in shown],
            "search": find.words,
            "found": len(found),
            "page": page,
            "pages": pages,
            "rules": policy_view(snapshot),
            "workers": self.runs.workers(self.clock.now()),
            "idle_s": self._idle_s(snapshot),
            "lagging": len(self.store.lagging(lane)),
            "recent": self._recent(seen),
        }

    def _head(self, snapshot: Snapshot) -> Document:
        return {
            "revision": snapshot.revision,
            "at": iso(snapshot.now),
            "trunk": trunk_view(snapshot),
            "halted": halted_view(snapshot),
            "recovering": snapshot.state.recovering,
            "recovered": recovered_view(snapshot),
            "waiting": waiting_view(snapshot),
            "last_action": snapshot.state.last_action or None,
            "planner": planner_view(snapshot),
            "counts": counts_view(snapshot.candidates),
        }

    def _recent(self, seen: Scene) -> Document:
        ended = self.store.ended(seen.snapshot.lane, limit=LOOK_BACK)
        landed = [each for each in ended if isinstance(each.state, Landed)]
        others = [each for each in ended if isinstance(each.state, Ejected | Cancelled)]
        return {
            "landings": [ended_view(each, seen) for each in landed[:RECENT]],
            "ejections": [ended_view(each, seen) for each in others[:RECENT]],
        }

    def candidate(self, lane: Lane, pr: int) -> Document | None:
        """Return everything about a PR's newest candidate, or None where it has none."""
        snapshot = self.store.read(lane)
        found = snapshot.candidate(pr) or self.store.latest(lane, pr)
        if found is None:
            return None
        seen = self._scene(snapshot)
        kept = self._receipt(lane, found)
        receipt = receipt_view(kept) if kept else None
        story = self.store.story(lane, pr, limit=STORY_MAX)
        return ended_view(found, seen) | {
            "at": iso(snapshot.now),
            "revision": snapshot.revision,
            "trunk_health": trunk_view(snapshot),
            "halted": halted_view(snapshot),
            "steps": _steps(found, seen, receipt),
            "story": [story_view(entry) for entry in story],
            "receipt": receipt,
            "run": run_of(found.state) or (gate_run(kept) if kept else None),
        }

    def _receipt(self, lane: Lane, candidate: Candidate) -> Receipt | None:
        if not isinstance(candidate.state, Landed):
            return None
        wanted = candidate.state.receipt
        receipts = self.store.landings(lane, limit=LOOK_BACK)
        return next((each for each in receipts if each.digest == wanted), None)

    def audit(self, lane: Lane) -> Document:
        """Return what people did by hand, newest first."""
        deeds = self.store.story(lane, AUDIT, limit=AUDIT_MAX)
        view = [story_view(each) for each in reversed(deeds)]
        return {"repo": lane.repo, "at": iso(self.clock.now()), "deeds": view}

    def landings(self, lane: Lane, find: Find) -> Document:
        """Return one page of receipts, newest first."""
        snapshot = self.store.read(lane)
        page = max(find.page, 1)
        receipts = self.store.landings(lane, limit=page * find.size + 1)
        shown = receipts[(page - 1) * find.size : page * find.size]
        titles = {each.pr: each for each in self.store.ended(lane, limit=LOOK_BACK * 5)}
        return self._head(snapshot) | {
            "repo": lane.repo,
            "landings": [
                {"author": None} | receipt_view(each) | _title(each, titles) for each in shown
            ],
            "page": page,
            "more": len(receipts) > page * find.size,
        }

    def health(self, lane: Lane) -> Document:
        """Return what the machine room looks like: trunk, halt, workers, idleness, lag."""
        snapshot = self.store.read(lane)
        lagging = self.store.lagging(lane)
        return {
            "trunk": trunk_view(snapshot),
            "halted": halted_view(snapshot),
            "recovering": snapshot.state.recovering,
            "recovered": recovered_view(snapshot),
            "waiting": waiting_view(snapshot),
            "workers": self.runs.workers(self.clock.now()),
            "idle_s": self._idle_s(snapshot),
            "lagging": [{"effect": each.effect.key, "tries": each.tries} for each in lagging],
        }

    def log(self, lane: Lane, run: str, *, offset: int) -> tuple[str, int, bool]:
        """Return output of a run from `offset` on, where it goes on, and whether it has ended.

        A character that is only half there yet is left for the next call.
        """
        data, end = self.logs.read(lane, run, offset=offset)
        whole = _whole(data)
        found = self.runs.get(lane, run)
        ended = found is None or found.result is not None
        if ended:
            whole = data
        text = plain(whole.decode("utf-8", "replace"))
        return text, end - (len(data) - len(whole)), ended

    def _scene(self, snapshot: Snapshot) -> Scene:
        lane, policy = snapshot.lane, snapshot.state.rules.policy
        remote = f"{self.forge_url.rstrip('/')}/{lane.repo}.git" if self.forge_url else "origin"
        setting = Setting(lane, policy, self.base_url, remote, snapshot.state.halt)
        return scene(snapshot, setting, self.runs.usual_seconds(snapshot.lane))

    def _idle_s(self, snapshot: Snapshot) -> int:
        story = self.store.story(snapshot.lane, 0, limit=1)
        return int(idle_s(snapshot, story[-1].at if story else 0.0))


def ended_view(candidate: Candidate, seen: Scene) -> Document:
    """Return an entry with when and how it ended, and the tail of what its gate printed."""
    at = ended_at(candidate)
    state = candidate.state
    evidence = state.evidence if isinstance(state, Ejected) else None
    return entry_view(candidate, seen) | {
        "ended_at": None if at is None else iso(at),
        "queue_s": seconds_in_queue(candidate),
        "receipt_digest": state.receipt if isinstance(state, Landed) else None,
        "tail": plain(evidence.result.tail) if isinstance(evidence, GateEvidence) else None,
        "details": list(evidence.details) if isinstance(evidence, ScopeEvidence) else [],
    }


def receipt_view(receipt: Receipt) -> Document:
    """Return a receipt's fields and the digest that names it."""
    return {**receipt.fields, "digest": receipt.digest}


def story_view(entry: Entry) -> Document:
    """Return one line of a story."""
    return {"at": iso(entry.at), "kind": entry.kind, "text": plain(entry.text)}


def _title(receipt: Receipt, titles: Mapping[int, Candidate]) -> Document:
    known = titles.get(int(str(receipt.fields.get("pr", 0))))
    return {"title": known.proposal.title if known else None}


def _steps(
    candidate: Candidate, seen: Scene, receipt: Mapping[str, object] | None
) -> list[Document]:
    match candidate.state:
        case Ejected(evidence=GateEvidence(result=result)):
            return [_ran(step, seen) for step in result.steps]
        case Verified(verdict=verdict) | Landing(verdict=verdict):
            return [_ran(step, seen) for step in verdict.steps]
        case Landed():
            return _landed_steps(receipt)
        case _:
            return _planned(candidate, seen)


def _ran(step: StepResult, seen: Scene) -> Document:
    usual = seen.usual.get(step.name)
    return {
        "name": step.name,
        "command": step.command,
        "exit_code": step.exit_code,
        "seconds": round(step.seconds, 1),
        "usual_s": None if usual is None else round(usual, 1),
        "flaky": step.flaky,
        "kept": step.kept,
        "state": "passed" if step.exit_code == 0 else "failed",
    }


def _landed_steps(receipt: Mapping[str, object] | None) -> list[Document]:
    gate = receipt.get("gate") if receipt else None
    steps = gate.get("steps") if isinstance(gate, dict) else None
    blank: Document = {
        "command": None,
        "usual_s": None,
        "flaky": False,
        "kept": "",
        "state": "passed",
    }
    return [blank | step for step in steps] if isinstance(steps, list) else []


def _planned(candidate: Candidate, seen: Scene) -> list[Document]:
    running = entry_view(candidate, seen)["running"]
    if not isinstance(running, dict):
        return []
    found: list[Document] = []
    for name in running["steps"]:
        now = name == running["step"]
        state = "running" if now else "passed" if name in running["steps_done"] else "waiting"
        usual = seen.usual.get(name)
        found.append(
            {
                "name": name,
                "command": None,
                "exit_code": None,
                "seconds": running["elapsed_s"] if now else None,
                "since": running["since"] if now else None,
                "usual_s": None if usual is None else round(usual, 1),
                "flaky": False,
                "kept": "",
                "state": state,
            }
        )
    return found


def _whole(data: bytes) -> bytes:
    """Return `data` without a UTF-8 character that is cut off at its end."""
    decoder = getincrementaldecoder("utf-8")("replace")
    decoder.decode(data)
    return data[: len(data) - len(decoder.getstate()[0])]
