"""Everything a door may ask about claims, in one place: the API, the command line's server, MCP."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mergebot.domain.audit import Choice, Decided, Doubt, Flag, Free, Item, Keep, Report, Worktree
from mergebot.domain.costs import Reported, Unusable
from mergebot.domain.dispatching import UNRANKED, Nothing, priority_of
from mergebot.domain.holding import Deed, Denied, Done, Right
from mergebot.domain.ids import Actor, Lane
from mergebot.domain.importing import Line
from mergebot.domain.ledger import LedgerClaim, Taken
from mergebot.domain.markdown import plain
from mergebot.domain.notices import holders_text
from mergebot.domain.status import Document
from mergebot.domain.wording import iso
from mergebot.ports.ledger import HostReport
from mergebot.services import auditing, claiming, costing, dispatching, importing
from mergebot.services.boarding import Board, claim_view, cost_view, pool_view, spent_view
from mergebot.services.claiming import Owned, Wanted
from mergebot.services.costing import COSTS_READ, Booked, Reporter, spent_in
from mergebot.services.dispatching import Applicant, Given
from mergebot.services.importing import Imported
from mergebot.services.parts import Parts

NOTES_READ = 500


@dataclass(frozen=True, slots=True)
class ClaimDesk:
    """What doors may do with claims; each has made sure that its caller may."""

    parts: Parts

    def board(self, lane: Lane) -> Document:
        """Return the pool, every claim, what is contended, and advice."""
        return Board(self.parts.store, self.parts.ledger, self.parts.clock).of(lane)

    def show(self, lane: Lane, name: str) -> Document | None:
        """Return one claim, live or ended, and what happened to it."""
        claim = self.parts.ledger.find(lane, name)
        if claim is None:
            return None
        notes = [
            {
                "at": iso(note.at),
                "by": plain(note.by),
                "what": note.what,
                "text": plain(note.text),
                "generation": note.generation,
            }
            for note in reversed(self.parts.ledger.notes(lane, limit=NOTES_READ))
            if note.claim == name
        ]
        costs = [
            cost_view(each)
            for each in reversed(self.parts.ledger.costs(lane, limit=COSTS_READ))
            if each.claim == name
        ]
        return {**claim_view(claim), "story": notes, "costs": costs}

    def claim(self, lane: Lane, wanted: Wanted) -> Owned | Taken | Denied:
        """Claim for a session."""
        return claiming.claim(self.parts, lane, wanted)

    def next(self, lane: Lane, applicant: Applicant) -> Given | Nothing:
        """Hand out the next ready task of the backlog."""
        return dispatching.next_task(self.parts, lane, applicant)

    def take_over(self, lane: Lane, lines: Sequence[Line]) -> Document:
        """Claim for every line of a plain claims file; tell what became of each."""
        imported = importing.import_lines(self.parts, lane, lines)
        return {
            "claims": [imported_view(each) for each in imported],
            "imported": sum(isinstance(each.outcome, LedgerClaim) for each in imported),
        }

    def act(self, lane: Lane, name: str, deed: Deed, right: Right) -> Done | Denied | Taken:
        """Do something to a live claim."""
        return claiming.do(self.parts, lane, name, deed, right)

    def report_cost(
        self, lane: Lane, name: str, said: Reported, by: Reporter
    ) -> Booked | Denied | Unusable:
        """Record what a claim cost, live or ended."""
        return costing.report_cost(self.parts, lane, name, said, by=by)

    def booked_view(self, lane: Lane, booked: Booked) -> Document:
        """Return a report that counts, and what the fleet spent with it."""
        spent = spent_in(self.parts.ledger, self.parts.store.read(lane))
        told = {"claim": booked.cost.claim, "task": booked.cost.task, "counted": booked.fresh}
        return told | cost_view(booked.cost) | {"fleet": spent_view(spent)}

    def audit(self, lane: Lane) -> Document:
        """Look at the whole pool, free what is over, and tell of both."""
        return report_view(auditing.audit(self.parts, lane))

    def look_over(self, lane: Lane) -> Document:
        """Tell what an audit would do, and do nothing."""
        return report_view(auditing.looked_over(self.parts, lane))

    def report(self, lane: Lane, host: str, worktrees: Sequence[Worktree]) -> int:
        """Keep what a host says of its worktrees; return how many claims these concern."""
        report = HostReport(host, self.parts.clock.now(), tuple(worktrees))
        auditing.report_worktrees(self.parts, lane, report)
        branches = {tree.branch for tree in worktrees}
        claims = self.parts.ledger.read(lane).claims.values()
        return sum(bool(claim.branch) and claim.branch in branches for claim in claims)

    def decide(self, lane: Lane, name: str, choice: Choice, *, by: Actor, reason: str) -> None:
        """Record a decision about work that only one machine has; raises Refused."""
        decided = Decided(name, choice, "", by.login, reason, self.parts.clock.now())
        auditing.decide_local(self.parts, lane, decided)

    def taken_view(self, taken: Taken) -> Document:
        """Return a refusal: one sentence, and every holder."""
        sentence = holders_text(taken.sentence, taken.holders, self.parts.clock.now())
        return {"error": sentence, "holders": [holder_view(each) for each in taken.holders]}


def holder_view(claim: LedgerClaim) -> Document:
    """Return who holds what, as a refusal names them."""
    view = claim_view(claim)
    keys = ("id", "task", "owner", "claims", "since", "pr", "state")
    return {key: view[key] for key in keys}


def owned_view(owned: Owned) -> Document:
    """Return a fresh claim with the token that only its session learns."""
    return claim_view(owned.claim) | {"token": owned.token}


def given_view(given: Given) -> Document:
    """Return a task that was handed out: its claim, the token, and what the issue says of it."""
    priority = priority_of(given.task.labels)
    return owned_view(given.owned) | {
        "issue": given.task.number,
        "title": plain(given.task.title),
        "labels": list(given.task.labels),
        "priority": None if priority == UNRANKED else priority,
    }


def nothing_view(nothing: Nothing) -> Document:
    """Return why no task is handed out, and what each task of the backlog waits for."""
    waiting = [{"task": f"#{each.task}", "because": each.because} for each in nothing.waiting]
    return {"error": nothing.sentence, "reason": nothing.why, "waiting": waiting}


def imported_view(imported: Imported) -> Document:
    """Return what became of one line of a claims file."""
    line, outcome = imported.line, imported.outcome
    told: Document = {"line": line.number, "task": line.task, "owner": line.owner}
    if isinstance(outcome, Taken):
        return told | {"id": None, "generation": None, "refused": outcome.sentence}
    return told | {"id": outcome.id, "generation": outcome.generation, "refused": None}


def report_view(report: Report) -> Document:
    """Return an audit: what was freed, what was kept and why, what waits for a decision."""
    items = [_item_view(item) for item in report.items]
    return {
        "at": iso(report.at),
        "before": pool_view(report.before),
        "after": pool_view(report.after),
        "usable_before": report.before.free,
        "usable_after": report.after.free,
        "items": items,
        "freed": [each["id"] for each in items if each["decision"] == "free"],
        "kept": [each["id"] for each in items if each["decision"] != "free"],
        "flagged": [each["id"] for each in items if each["decision"] == "flag"],
    }


def _item_view(item: Item) -> Document:
    facts: Mapping[str, object] = {
        "ticket": item.facts.ticket,
        "branch_state": item.facts.branch,
        "queued": item.facts.queued,
        "local": [
            {
                "host": each.host,
                "path": each.path,
                "head": each.head,
                "dirty": each.dirty,
                "ahead": each.ahead,
            }
            for each in item.facts.local
        ],
    }
    decision, why = _decision(item)
    return {**claim_view(item.claim), **facts, "decision": decision, "because": plain(why)}


def _decision(item: Item) -> tuple[str, str]:
    match item.verdict:
        case Free(evidence):
            return "free", evidence
        case Keep(why):
            return "keep", why
        case Flag(question):
            return "flag", question
        case Doubt(why):
            return "suspect", why
