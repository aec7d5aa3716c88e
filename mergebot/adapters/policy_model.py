"""The shape of `.mergebot.toml` as pydantic models.

A field's `description` is the end of the sentence "... is allowed": what a wrong value is told.
"""

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from mergebot.domain.costs import AMOUNT_MAX, UNIT
from mergebot.domain.limits import REDS_MAX
from mergebot.domain.names import is_branch, is_git_directory, shown
from mergebot.domain.patterns import Pattern, parse
from mergebot.domain.tables import found

DURATION_S_MAX = 7 * 24 * 3600
STEPS_MAX = 64
AT_ONCE_MAX = 64
MANY_MAX = 100_000

_DURATION = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?")
_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)", re.ASCII)
_PRODUCER = "an App's slug, an App's number, or @ and the login of an account"
_PRODUCERS = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?|@[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_SHA256 = "[0-9a-f]{64}"
_REPOSITORY = (
    r"(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,5})?/)?"
    r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*"
)
_NAMES = {
    "step": r"[a-z0-9][a-z0-9 _.-]{0,63}",
    "unit": UNIT.pattern,
    "contract": r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}",
    "variable": r"[A-Za-z_][A-Za-z0-9_]{0,99}=[^\0\n]*",
    "image": rf"(?:sha256:{_SHA256}|(?!sha256:){_REPOSITORY}(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?:@sha256:{_SHA256})?)",
    "owner": r"@[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:/[A-Za-z0-9][A-Za-z0-9_.-]{0,99})?",
}


def wrong(sentence: str) -> PydanticCustomError:
    """Return an error that is one whole sentence."""
    return PydanticCustomError("sentence", "{sentence}", {"sentence": sentence})


def refused() -> PydanticCustomError:
    """Return an error whose sentence is made from the field's description."""
    return PydanticCustomError("refused", "refused")


def seconds(text: object) -> float:
    """Return a duration such as "1h30m" in seconds; raises PydanticCustomError."""
    match = _DURATION.fullmatch(text) if isinstance(text, str) and text else None
    if match is None:
        raise refused()
    hours, minutes, rest = (int(part or 0) for part in match.groups())
    total = hours * 3600 + minutes * 60 + rest
    if not 0 < total <= DURATION_S_MAX:
        raise refused()
    return float(total)


def _time_or_nothing(text: object) -> float:
    return 0.0 if text == "" else seconds(text)


def _hours(text: object) -> tuple[int, int]:
    """Return the minutes of the day at which a span of hours begins and ends."""
    match = _HOURS.fullmatch(text) if isinstance(text, str) else None
    if text == "":
        return 0, 0
    if match is None:
        raise refused()
    begin_h, begin_min, end_h, end_min = map(int, match.groups())
    begins, ends = begin_h * 60 + begin_min, end_h * 60 + end_min
    if begins == ends:
        raise refused()
    return begins, ends


def _auto(value: object) -> object:
    return 0 if value == "auto" else _counted(value)


def _counted(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= AT_ONCE_MAX:
        return value
    raise refused()


_MISTAKEN = {
    "[": "there are no character classes, so write ? for one character",
    "{": "there are no braces, so write one pattern for each, or ? for one character",
}
"""Signs that a claim takes as they stand: in a rule, a class that is none would protect nothing."""


def _pattern(text: str) -> str:
    for sign, why in _MISTAKEN.items():
        if sign in text:
            raise wrong(f"The pattern {shown(text)} holds {sign}; {why}.")
    pattern = parse(text)
    if isinstance(pattern, Pattern):
        return text
    raise wrong(pattern.sentence)


def _folder(text: str) -> str:
    pattern = parse(text.rstrip("/"))
    if not isinstance(pattern, Pattern):
        raise wrong(pattern.sentence)
    if not pattern.is_literal:
        raise wrong(f"The path {shown(text)} holds a wildcard; a cache is named exactly.")
    if is_git_directory(pattern.text):
        raise wrong(f"The path {shown(text)} is a git directory; it is never kept.")
    return pattern.text


def _producers(table: object) -> dict[str, str]:
    """Return who reports which check, an App's number as its digits."""
    if not isinstance(table, dict):
        raise refused()
    odd = [name for name, value in table.items() if not _is_producer(value)]
    if odd:
        faults = [f"{shown(name)} is {found(table[name])}" for name in odd]
        raise wrong(f"{', '.join(faults)}; allowed is {_PRODUCER}.")
    return {name: str(value) for name, value in table.items()}


def _is_producer(value: object) -> bool:
    if isinstance(value, int):
        return not isinstance(value, bool) and 0 < value < 2**53
    return isinstance(value, str) and bool(_PRODUCERS.fullmatch(value)) and not value.isdecimal()


def _like(kind: str) -> Callable[[str], str]:
    shape = re.compile(_NAMES[kind])

    def check(text: str) -> str:
        if shape.fullmatch(text):
            return text
        raise refused()

    return check


def _one_line(text: str) -> str:
    if text.strip() == text and text.isprintable() and 0 < len(text) <= 100:  # noqa: PLR2004 - as long as a check's name gets
        return text
    raise refused()


def _line_or_nothing(text: str) -> str:
    return _one_line(text) if text else text


def _branch(text: str) -> str:
    if is_branch(text):
        return text
    raise refused()


def _command(text: str) -> str:
    if text.strip() and "\0" not in text:
        return text
    raise refused()


def _setup(text: str) -> str:
    return _command(text) if text else text


def _image(text: str) -> str:
    if len(text) > 255:  # noqa: PLR2004 - as long as engines take
        raise refused()
    return _like("image")(text) if text else text


def _field(allowed: str, **rules: Any) -> Any:
    return Field(description=allowed, **rules)


Duration = Annotated[float, BeforeValidator(seconds)]
AutoOrCount = Annotated[int, BeforeValidator(_auto)]
OptionalDuration = Annotated[float, BeforeValidator(_time_or_nothing)]
Line = Annotated[str, AfterValidator(_one_line)]
OptionalLine = Annotated[str, AfterValidator(_line_or_nothing)]
PatternText = Annotated[str, AfterValidator(_pattern)]

_TIME = 'a duration such as "45s", "60m" or "1h30m", up to 168h'
_LABEL = "one line of 1 to 100 characters"
_PATTERNS = "a list of patterns"
_SWITCH = "true or false"
_REDS = f"a whole number from 0 to {REDS_MAX}"
_IMAGE = 'an image such as "ghcr.io/acme/gate@sha256:...", or nothing'
_MANY = "a whole number from 0 to 100000"


class Section(BaseModel):
    """A table: unknown keys and values of another type are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Queue(Section):
    """`[queue]`."""

    label: Line = _field(_LABEL, default="merge-queue")
    fix_label: Line = _field(_LABEL, default="merge-queue-fix")
    hold_label: Line = _field(_LABEL, default="merge-queue-hold")
    actors: list[Annotated[int, Field(ge=1, lt=2**53)]] = _field(
        "a list of numeric ids", default=[]
    )
    method: Literal["rebase", "squash", "merge"] = _field(
        '"rebase", "squash" or "merge"', default="rebase"
    )
    window: AutoOrCount = _field('"auto" or a whole number from 1 to 64', default=0)
    batch: AutoOrCount = _field('"auto" or a whole number from 1 to 64', default=1)
    require_approvals: int = _field("a whole number from 0 to 100", default=0, ge=0, le=100)
    fork_pull_requests: bool = _field(_SWITCH, default=False)
    share: float = _field("a number above 0 and up to 1.0", default=1.0, gt=0, le=1)
    hedge: Literal["off", "risky", "idle"] = _field('"off", "risky" or "idle"', default="off")


class GateStep(Section):
    """`[[gate.steps]]`."""

    name: Annotated[str, AfterValidator(_like("step"))] = _field(
        "1 to 64 of a-z, 0-9, blank, _ . and -, starting with a letter or digit"
    )
    run: Annotated[str, AfterValidator(_command)] = _field("a shell command")
    timeout: Duration = _field(_TIME, default=0.0)
    retry: int = _field("a whole number from 0 to 5", default=0, ge=0, le=5)
    inputs: list[PatternText] = _field(_PATTERNS, default=[])
    needs: list[str] = _field("a list of names of earlier steps", default=[])


class External(Section):
    """`[gate.external]`."""

    checks: list[Line] = _field("a list of names of checks", default=[])
    skippable: list[Line] = _field("a list of names out of gate.external.checks", default=[])
    producers: Annotated[dict[str, str], BeforeValidator(_producers)] = _field(
        f"a table of checks, each with {_PRODUCER}", default={}
    )
    timeout: Duration = _field(_TIME, default=2700.0)


class Gate(Section):
    """`[gate]`."""

    setup: Annotated[str, AfterValidator(_setup)] = _field(
        "a shell command, or nothing", default=""
    )
    timeout: Duration = _field(_TIME, default=3600.0)
    order: Literal["listed", "fail-first"] = _field('"listed" or "fail-first"', default="listed")
    environment: list[Annotated[str, AfterValidator(_like("variable"))]] = _field(
        "a list of NAME=value, each on one line", default=["CI=true"]
    )
    network: bool = _field(_SWITCH, default=False)
    image: Annotated[str, AfterValidator(_image)] = _field(_IMAGE, default="")
    keep: list[Annotated[str, AfterValidator(_folder)]] = _field(
        "a list of paths", default=[".venv", "node_modules"]
    )
    steps: list[GateStep] = _field("up to 64 tables", default=[], max_length=STEPS_MAX)
    external: External = _field("a table", default=External())


class Claims(Section):
    """`[claims]`."""

    required: bool = _field(_SWITCH, default=False)
    protected: list[PatternText] = _field(_PATTERNS, default=[".github/**", ".mergebot.toml"])
    pool: int = _field(_MANY, default=0, ge=0, le=MANY_MAX)
    suspect_after: Duration = _field(_TIME, default=86400.0)


class ContractRules(Section):
    """`[contracts.<name>]`."""

    paths: list[PatternText] = _field("a list of one or more patterns", min_length=1)
    owners: list[Annotated[str, AfterValidator(_like("owner"))]] = _field(
        "a list of @person or @organisation/team", default=[]
    )
    used_by: list[PatternText] = _field(_PATTERNS, default=[])
    tests: list[str] = _field("a list of names of gate steps", default=[])


class Budgets(Section):
    """`[budget]`."""

    failures: int = _field("a whole number from 1 to 100", default=3, ge=1, le=100)
    infra: int = _field("a whole number from 1 to 100", default=3, ge=1, le=100)
    runtime: Duration = _field(_TIME, default=10800.0)


class Fleet(Section):
    """`[fleet]`."""

    backlog_label: OptionalLine = _field(_LABEL + ", or nothing", default="")
    unattended_labels: list[Line] = _field("a list of labels", default=[])
    question_label: Line = _field(_LABEL, default="needs-a-person")
    live_claims_max: int = _field(_MANY, default=0, ge=0, le=MANY_MAX)
    share_per_owner: int = _field(_MANY, default=0, ge=0, le=MANY_MAX)
    queue_longest: int = _field(_MANY, default=0, ge=0, le=MANY_MAX)
    runtime_max: OptionalDuration = _field(_TIME + ", or nothing", default=0.0)
    reds_max: int = _field(_REDS, default=5, ge=0, le=REDS_MAX)
    cost_max: float = _field("a number from 0 to 1000000000", default=0.0, ge=0, le=AMOUNT_MAX)
    cost_unit: Annotated[str, AfterValidator(_like("unit"))] = _field(
        "1 to 16 letters and digits, such as USD", default="USD"
    )
    window: Annotated[tuple[int, int], BeforeValidator(_hours)] = _field(
        'hours of the day in UTC such as "08:00-20:00", or nothing', default=(0, 0)
    )


class Health(Section):
    """`[health]`."""

    check: Literal["gate", "external", "both"] = _field(
        '"gate", "external" or "both"', default="gate"
    )
    culprit: Literal["bisect", "off"] = _field('"bisect" or "off"', default="bisect")


class Rules(Section):
    """The whole file."""

    trunk: Annotated[str, AfterValidator(_branch)] = _field(
        "the name of a branch, without blanks and without refs/heads/", default="main"
    )
    queue: Queue = _field("a table", default=Queue())
    gate: Gate = _field("a table", default=Gate())
    claims: Claims = _field("a table", default=Claims())
    contracts: dict[Annotated[str, AfterValidator(_like("contract"))], ContractRules] = _field(
        "a table of tables; a name has 1 to 64 of A-Z, a-z, 0-9, _ and -", default={}
    )
    budget: Budgets = _field("a table", default=Budgets())
    fleet: Fleet = _field("a table", default=Fleet())
    health: Health = _field("a table", default=Health())
