"""What agents say that their tasks cost, and how far that is from the fleet's ceiling.

Nothing here is measured: a sum counts what was reported, so it comes with how many of the tasks
worked on have reported anything.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mergebot.domain.ledger import Ended, LedgerClaim
from mergebot.domain.policy import FleetPolicy
from mergebot.domain.tickets import task_key
from mergebot.domain.wording import DAY_S, count

AMOUNT_MAX = 1_000_000_000.0
"""Of one report and of the ceiling: more than a fleet spends, little enough to add up exactly."""

DECIMALS = 6
"""Kept of an amount: a price per token has no more."""

REFERENCE_CHARS_MAX = 200
UNIT = re.compile(r"[A-Za-z][A-Za-z0-9]{0,15}")


@dataclass(frozen=True, slots=True)
class Cost:
    """What somebody reported for a claim; a `reference` counts once for each claim.

    `id` tells a report from one that says the same.
    """

    id: str
    at: float
    claim: str
    task: str
    by: str
    amount: float
    unit: str
    reference: str


@dataclass(frozen=True, slots=True)
class Reported:
    """What a report says; "" as unit is that of the rules, "" as reference the claim as a whole."""

    amount: float
    unit: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Unusable:
    """Why a report is not recorded, and which field of it is to blame."""

    sentence: str
    field: str


@dataclass(frozen=True, slots=True)
class Spent:
    """The sum of the last day in one unit; `ceiling` is 0 for none.

    `reported` of the `tasks` that somebody worked on have told what they cost.
    """

    amount: float
    unit: str
    ceiling: float
    reported: int
    tasks: int

    @property
    def over(self) -> bool:
        """Tell whether the ceiling is reached."""
        return bool(self.ceiling) and self.amount >= self.ceiling

    @property
    def coverage(self) -> str:
        """Return what the sum leaves out, in words."""
        return f"counts only what agents reported: {self.reported} of {count(self.tasks, 'task')}"

    @property
    def text(self) -> str:
        """Return the sum, the ceiling, and what they rest on."""
        spent = f"{shown_amount(self.amount)} {self.unit} in the last 24 h"
        if self.ceiling:
            spent = (
                f"{shown_amount(self.amount)} of {shown_amount(self.ceiling)} {self.unit} that a "
                "day may cost (fleet.cost_max)"
            )
        return f"{spent}; {self.coverage}"


NOTHING_SPENT = Spent(0.0, "", 0.0, 0, 0)


def priced(claim: LedgerClaim, said: Reported, fleet: FleetPolicy, *, by: str) -> Cost | Unusable:
    """Return a report as it is recorded, still without id and time, or why it cannot be used."""
    unit = said.unit or fleet.cost_unit
    if unit.casefold() != fleet.cost_unit.casefold():
        text = f"unit is {unit}, and costs are counted in {fleet.cost_unit} here (fleet.cost_unit)"
        return Unusable(text, "unit")
    amount = round(said.amount, DECIMALS)
    return Cost(
        id="",
        at=0.0,
        claim=claim.id,
        task=claim.task,
        by=by,
        amount=amount,
        unit=fleet.cost_unit,
        reference=said.reference or claim.id,
    )


def amount_fault(value: object) -> str:
    """Return why something is no amount, "" where it is one."""
    most = shown_amount(AMOUNT_MAX)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and math.isfinite(float(value)) and 0 <= float(value) <= AMOUNT_MAX:  # type: ignore[arg-type]  # a number, seen in the line above
        return ""
    return f"amount must be a number from 0 to {most}"


def differs(known: Cost, said: Cost) -> Unusable | None:
    """Return why a repeated report is refused, None where it says what the first one said."""
    if (known.amount, known.unit) == (said.amount, said.unit):
        return None
    text = (
        f"{known.reference} was reported with {shown_amount(known.amount)} {known.unit} already: "
        "what comes on top needs a reference of its own"
    )
    return Unusable(text, "reference")


def spent(
    costs: Iterable[Cost],
    claims: Sequence[LedgerClaim],
    fleet: FleetPolicy,
    *,
    repo: str,
    now: float,
) -> Spent:
    """Return what was reported within a day, of the live claims and those that ended within it."""
    since = now - DAY_S
    recent = [each for each in costs if each.at >= since and each.unit == fleet.cost_unit]
    told = {task_key(each.task, repo) for each in recent}
    worked = {task_key(each.task, repo) for each in claims if _since(each, since)}
    return Spent(
        amount=round(math.fsum(each.amount for each in recent), DECIMALS),
        unit=fleet.cost_unit,
        ceiling=fleet.cost_max,
        reported=len(told),
        tasks=len(told | worked),
    )


def shown_amount(amount: float) -> str:
    """Return an amount as people write it: `12.5`, `1,200,000`."""
    whole, _, rest = f"{amount:,.{DECIMALS}f}".partition(".")
    rest = rest.rstrip("0")
    return f"{whole}.{rest}" if rest else whole


def _since(claim: LedgerClaim, since: float) -> bool:
    return not isinstance(claim.state, Ended) or claim.state.at >= since
