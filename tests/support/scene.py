"""A busy afternoon in one repository: every state, a halt, landings, ejections, logs and stories."""

from dataclasses import replace

from mergebot.domain.candidate import (
    Candidate,
    Claim,
    ConflictEvidence,
    Ejected,
    GateEvidence,
    Gating,
    Kind,
    Landed,
    Landing,
    Merge,
    NoClaim,
    Parked,
    Proposal,
    Queued,
    ScopeEvidence,
    State,
    Verified,
)
from mergebot.domain.gate import Failed, GateSpec, Passed, Step, StepResult, Verdict
from mergebot.domain.ids import Actor, Lane, Sha
from mergebot.domain.lane import Green, LaneState, Red, Rules, RunProgress
from mergebot.domain.policy import Policy
from mergebot.domain.reasons import Fault, Reason
from mergebot.domain.receipts import LandingRecord, Receipt, write_receipt
from mergebot.domain.wording import iso
from tests.support.sample import candidate
from tests.support.website import Website, entry, order

SHOP = Lane(2, "harbour/shop", "main")
QUIET = Lane(3, "harbour/docs", "main")
STEPS = (Step("build", "make build", 600), Step("test", "pytest -q", 900), Step("lint", "ruff", 60))
RULES = Policy(GateSpec(STEPS, timeout_s=3600))
USUAL = {"build": 38.0, "test": 95.0, "lint": 7.0}
ERROR = (
    "tests/checkout/test_total.py:41: in test_discount_is_taken_once\n"
    "    assert total(cart) == Money(1800)\n"
    "E   AssertionError: assert Money(1600) == Money(1800)"
)
LOG = (
    "$ make build\nfetching nothing: the cache is warm\ncompiled 412 modules in 37.9 s\n\n"
    "$ pytest -q\n" + "." * 72 + " [ 33%]\n" + "." * 72 + " [ 66%]\n"
    "......................F"
    + "." * 40
    + " [100%]\n\n"
    + ERROR
    + "\n1 failed, 206 passed in 41.2 s\n"
)


def sha(number: int) -> Sha:
    """Return a commit id that looks like one."""
    return Sha(f"{number * 2654435761 % 2**160:040x}"[::-1].replace("0", "7"))


def change(pr: int, title: str, author: str, paths: tuple[str, ...], state: State) -> Candidate:
    """Return a candidate as it would stand in a real queue."""
    plain = candidate(state, pr=pr)
    slug = title.lower().replace(" ", "-")[:30]
    return replace(
        plain,
        head=sha(pr),
        proposal=Proposal(title, "", Actor(pr, author), f"{author}/{slug}", same_repository=True),
        claim=Claim(f"c{pr}", f"SHOP-{pr + 300}", paths) if paths else NoClaim(),
        enqueued_by=Actor(pr, author),
    )


def merge(pr: int) -> Merge:
    """Return the merged commit of a PR."""
    return Merge(sha(1000 + pr), sha(2000 + pr), sha(3000 + pr), ("a",))


def fill_halted(site: Website) -> None:
    """Fill a website with the afternoon on which the trunk turned red."""
    now = site.clock.now()
    _around(site, now)
    _queue(site, now, _red(now), "repair")


def fill_calm(site: Website) -> None:
    """Fill a website with the same afternoon, and nothing wrong with the trunk."""
    now = site.clock.now()
    _around(site, now)
    green = Green(sha(9), now - 2200)
    _queue(
        site, now, LaneState(known_tip=sha(9), health=green, rules=Rules(sha(9), RULES)), "normal"
    )


def _around(site: Website, now: float) -> None:
    site.runs.announce("hawk-1", 2, now)
    site.runs.announce("hawk-2", 2, now)
    _past(site, now)
    quiet = LaneState(
        known_tip=sha(5), health=Green(sha(5), now - 90_000), rules=Rules(sha(5), RULES)
    )
    site.put(lane=QUIET, state=quiet)


def _red(now: float) -> LaneState:
    health = Red(
        tip=sha(9),
        since=now - 372,
        run="trunk-run",
        step="test",
        command="pytest -q",
        last_green=sha(8),
        suspects=(sha(9),),
    )
    return LaneState(known_tip=sha(9), health=health, rules=Rules(sha(9), RULES))


def _steps(now: float) -> tuple[StepResult, ...]:
    return tuple(
        StepResult(step.name, step.run, 0, USUAL[step.name] + now % 3, "e" * 64) for step in STEPS
    )


def _queue(site: Website, now: float, state: LaneState, kind: str) -> None:
    verdict = Verdict(sha(1), sha(2), sha(3), "run-ok", "f", "hawk-1", _steps(now))
    gates = {
        214: change(
            214, "Take the discount once, not per line", "mia", ("src/cart/**",),
            Gating(merge(214), "run-214", now - 100),
        ),
        209: change(
            209, "Send receipts in the customer's language", "agent-7",
            ("src/mail/**", "locale/**", "tests/mail/**", "docs/mail.md"),
            Gating(merge(209), "run-209", now - 57),
        ),
    }  # fmt: skip
    rows = [
        change(201, "Keep sessions when the cache restarts", "ada", ("src/session/**",),
               Landing(merge(201), verdict, "d", now - 2)),
        change(204, "Retry card payments only after a timeout", "agent-3", ("src/pay/retry.py",),
               Verified(merge(204), verdict)),
        gates[209],
        change(210, "Show stock levels by warehouse", "jun", (),
               Parked(Reason.HELD, "On hold: somebody set the label merge-queue-hold.")),
        change(211, "Move the price list to decimals", "agent-12",
               ("src/price/**", "tests/price/test_list.py"), Queued()),
        change(212, "Drop the old export format", "noor", ("src/export/**",),
               Parked(Reason.TRUNK_RED, "Waits for main to be green again.")
               if kind == "repair" else Queued()),
        change(213, "Count visits without cookies", "agent-3", ("src/stats/**",), Queued()),
    ]  # fmt: skip
    repair = replace(gates[214], kind=Kind(kind))
    queue = [
        replace(each, seq=place, enqueued_at=now - 900 + place * 97)
        for place, each in enumerate([*rows, repair])
    ]
    orders = tuple(order(f"run-{pr}", gates[pr], now - 100) for pr in gates)
    orders = tuple(replace(each, spec=RULES.gate) for each in orders)
    site.put(*queue, lane=SHOP, state=state, orders=orders)
    for pr, step, since, done in [(214, "test", 61, ("build",)), (209, "build", 21, ())]:
        site.runs.take(SHOP, f"run-{pr}", "hawk-1", now - 57)
        progress = RunProgress("hawk-1", now - 100, now, step, now - since, done)
        site.runs.beat(SHOP, f"run-{pr}", progress)
    site.logs.append(SHOP, "run-214", LOG.split("[ 66%]")[0].encode())


def _past(site: Website, now: float) -> None:
    landed = [
        (188, "Name the harbour in the page title", "ada"),
        (190, "Cache exchange rates for an hour", "agent-7"),
        (191, "Fix a typo in the invoice footer", "noor"),
        (193, "Let carts hold more than 99 items", "agent-3"),
        (196, "Log payments without card numbers", "jun"),
    ]
    receipts: list[Receipt] = []
    done: list[Candidate] = []
    for place, (pr, title, author) in enumerate(landed):
        at = now - 9000 + place * 1700
        verdict = Verdict(sha(1), sha(2), sha(3), f"run-{pr}", "f", "hawk-2", _steps(now))
        base = change(pr, title, author, ("src/**",), Queued())
        record = LandingRecord(iso(at), place, receipts[-1].digest if receipts else "")
        receipt = write_receipt(SHOP, base, merge=merge(pr), verdict=verdict, record=record)
        receipts.append(receipt)
        ended = base.moved(Landed(merge(pr), receipt.digest, at))
        done.append(replace(ended, enqueued_at=at - 260 - place * 41))
    site.put(*done, lane=SHOP, landed=tuple(receipts))
    site.put(*_ejected(now), lane=SHOP, entries=_story(now))
    site.logs.append(SHOP, "run-198", LOG.encode())
    for name, seconds in [("u1", 36.0), ("u2", 38.0), ("u3", 41.0)]:
        spec = order(name, done[0], now)
        site.put(lane=SHOP, orders=(spec,))
        site.runs.take(SHOP, name, "hawk-2", now)
        steps = tuple(
            StepResult(step.name, step.run, 0, USUAL[step.name] * seconds / 38, "e", 1)
            for step in STEPS
        )
        site.runs.finish(SHOP, name, Passed(steps), now)


def _ejected(now: float) -> list[Candidate]:
    failed = Failed(
        Reason.GATE_FAILED,
        (StepResult("build", "make build", 0, 37.9, "e" * 64),
         StepResult("test", "pytest -q", 1, 41.2, "e" * 64)),
        ERROR,
        LOG[-400:],
    )  # fmt: skip
    gate = GateEvidence(merge(198), "run-198", failed, Fault.CANDIDATE)
    scope = ScopeEvidence(
        merge(195), ("docs/terms.md",), ("docs/terms.md lies outside the claim src/terms/**.",)
    )
    clash = ConflictEvidence(sha(7), ("src/menu.py", "tests/test_menu.py"))
    rows = [
        change(194, "Sort the menu by season", "noor", ("src/menu.py",),
               Ejected(Reason.CONFLICT, clash, now - 5400)),
        change(195, "Reword the terms", "agent-12", ("src/terms/**",),
               Ejected(Reason.OUT_OF_SCOPE, scope, now - 3000)),
        change(198, "Take every discount that applies", "agent-7", ("src/cart/**",),
               Ejected(Reason.GATE_FAILED, gate, now - 1260)),
    ]  # fmt: skip
    spent = replace(rows[2], budget=replace(rows[2].budget, failures=1), enqueued_at=now - 1400)
    return [*rows[:2], spent]


def _story(now: float) -> tuple[object, ...]:
    lines = [
        (1400, "asked", "agent-7 asked to land 9a41c07"),
        (1400, "queued", "queued at number 3"),
        (1352, "gating", "gate ordered on 27c9d01, on top of 5be0912"),
        (1268, "failing", "the step test was red; its base is being checked"),
        (1260, "ejected", "ejected: gate_failed, the base is green"),
    ]
    return tuple(entry(now - ago, 198, kind, text) for ago, kind, text in lines)
