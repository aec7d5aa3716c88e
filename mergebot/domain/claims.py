"""The claim block: what the author of a pull request says it is for and may change.

It is a fenced block named `mergebot` in the description, with TOML inside. Only one that a reader
sees as such counts: not one inside another block, a quotation or an HTML comment.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mergebot.domain.limits import CLAIM_PATTERNS_MAX, CONFIG_BYTES_MAX
from mergebot.domain.patterns import PatternFault, parse
from mergebot.domain.tables import Table, TableFault, found, read_table, unknown_key

TASK_CHARS_MAX = 200
_KEYS = ("task", "claims", "assumes")
_ASSUMPTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}@[0-9a-f]{7,64}")
_LINE = re.compile(r"\r\n|\n|\r")
_OPENS = re.compile(r"(?P<indent> {0,3})(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>.*)")
_HTML = (
    (re.compile(r" {0,3}<!--"), re.compile(r"-->")),
    (
        re.compile(r" {0,3}<(?:pre|script|style|textarea)(?:[\s>]|$)", re.IGNORECASE),
        re.compile(r"</(?:pre|script|style|textarea)>", re.IGNORECASE),
    ),
)


@dataclass(frozen=True, slots=True)
class ClaimBlock:
    """What a valid block says; `assumes` holds `contract@revision`."""

    task: str
    patterns: tuple[str, ...]
    assumes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoBlock:
    """The description has no claim block."""


@dataclass(frozen=True, slots=True)
class ClaimFaults:
    """Why the block was refused, one sentence for each fault."""

    faults: tuple[str, ...]


def parse_claim_block(body: str) -> ClaimBlock | NoBlock | ClaimFaults:
    """Return the claim that a description makes, or every fault of its block; never raises."""
    table = _table(body)
    return table if isinstance(table, NoBlock | ClaimFaults) else _claim(table)


def parse_task_block(body: str, task: str) -> ClaimBlock | NoBlock | ClaimFaults:
    """Return the claim that a ticket's description asks for; the ticket itself is the task."""
    table = _table(body)
    if isinstance(table, NoBlock | ClaimFaults):
        return table
    return _claim({**table, "task": task})


def _table(body: str) -> Table | NoBlock | ClaimFaults:
    blocks = _claims(body)
    if not blocks:
        return NoBlock()
    if len(blocks) > 1:
        count = f"The description has {len(blocks)} mergebot blocks; only one is allowed."
        return ClaimFaults((count,))
    block = blocks[0]
    if not block.closed:
        return ClaimFaults((f"The mergebot block is not closed; end it with {block.fence}.",))
    if len(block.text) > CONFIG_BYTES_MAX:
        size = f"The mergebot block has {len(block.text)} characters; "
        return ClaimFaults((f"{size}at most {CONFIG_BYTES_MAX} are allowed.",))
    table = read_table(block.text, name="The mergebot block")
    if isinstance(table, TableFault):
        return ClaimFaults((table.sentence,))
    return table


def without_claim(body: str) -> str:
    """Return a description without its claim block."""
    lines = _LINE.split(body)
    for block in reversed(_claims(body)):
        del lines[block.lines]
    return "\n".join(lines)


def claim_of_fields(table: Table) -> ClaimBlock | ClaimFaults:
    """Return the claim that a request's fields make, or every fault of them."""
    return _claim(table)


def _claim(table: Table) -> ClaimBlock | ClaimFaults:
    faults = [
        *(unknown_key(key, _KEYS, inside="") for key in table if key not in _KEYS),
        *_task_faults(table),
        *_claims_faults(table),
        *_assumes_faults(table),
    ]
    if faults:
        return ClaimFaults(tuple(faults))
    return ClaimBlock(
        task=str(table["task"]).strip(),
        patterns=_unique(table["claims"]),
        assumes=_unique(table.get("assumes", [])),
    )


def _task_faults(table: Table) -> Iterator[str]:
    allowed = f"it must be one line of 1 to {TASK_CHARS_MAX} characters"
    task = table.get("task")
    if "task" not in table:
        yield f"task is missing; {allowed}."
    elif not isinstance(task, str) or not task.strip() or not task.isprintable():
        yield f"task is {found(task)}; {allowed}."
    elif len(task) > TASK_CHARS_MAX:
        yield f"task has {len(task)} characters; {allowed}."


def _claims_faults(table: Table) -> Iterator[str]:
    allowed = f"it must be a list of 1 to {CLAIM_PATTERNS_MAX} patterns"
    claims = table.get("claims")
    if "claims" not in table:
        yield f"claims is missing; {allowed}."
    elif not isinstance(claims, list) or not 0 < len(claims) <= CLAIM_PATTERNS_MAX:
        yield f"claims is {found(claims)}; {allowed}."
    else:
        for number, text in enumerate(claims, 1):
            if not isinstance(text, str):
                yield f"claims[{number}] is {found(text)}; it must be a pattern such as src/**."
            elif isinstance(fault := parse(text), PatternFault):
                yield f"claims[{number}]: {fault.sentence}"


def _assumes_faults(table: Table) -> Iterator[str]:
    assumes = table.get("assumes", [])
    if not isinstance(assumes, list) or len(assumes) > CLAIM_PATTERNS_MAX:
        yield (
            f"assumes is {found(assumes)}; it must be a list of up to {CLAIM_PATTERNS_MAX} "
            "contracts with their revision."
        )
        return
    for number, text in enumerate(assumes, 1):
        if not isinstance(text, str) or not _ASSUMPTION.fullmatch(text):
            yield (
                f"assumes[{number}] is {found(text)}; it must be contract@revision, such as "
                "readiness@3f2a91c."
            )


def _unique(values: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(str, values))) if isinstance(values, list) else ()


@dataclass(frozen=True, slots=True)
class _Block:
    fence: str
    info: str
    text: str
    closed: bool
    lines: slice


def _claims(body: str) -> Sequence[_Block]:
    return [block for block in _fenced(body) if _language(block.info) == "mergebot"]


def _language(info: str) -> str:
    return (info.split() or [""])[0].casefold()


def _fenced(body: str) -> Iterator[_Block]:
    """Yield the fenced blocks that stand on their own, as CommonMark sees them."""
    lines = _LINE.split(body)
    at = 0
    while at < len(lines):
        after = _after_html(lines, at)
        if after > at:
            at = after
            continue
        opened = _OPENS.fullmatch(lines[at])
        at += 1
        if opened is None or (opened["fence"][0] == "`" and "`" in opened["info"]):
            continue
        closing = re.compile(rf" {{0,3}}{opened['fence'][0]}{{{len(opened['fence'])},}}[ \t]*")
        end = next((n for n in range(at, len(lines)) if closing.fullmatch(lines[n])), len(lines))
        indent = len(opened["indent"])
        content = [re.sub(rf"^ {{0,{indent}}}", "", line) for line in lines[at:end]]
        yield _Block(
            fence=opened["fence"],
            info=opened["info"],
            text="\n".join(content),
            closed=end < len(lines),
            lines=slice(at - 1, end + 1),
        )
        at = end + 1


def _after_html(lines: Sequence[str], at: int) -> int:
    """Return the line after the HTML block that starts at `at`, or `at` where none does."""
    for opens, closes in _HTML:
        found_at = opens.match(lines[at])
        if found_at is None:
            continue
        if closes.search(lines[at], found_at.end()):
            return at + 1
        ends = (n for n in range(at + 1, len(lines)) if closes.search(lines[n]))
        return next(ends, len(lines)) + 1
    return at
