"""The comment on a pull request that nobody has queued yet: what is in its way, as facts and words."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mergebot.domain.early import Clash, Early, Holder
from mergebot.domain.ids import Lane
from mergebot.domain.markdown import Markdown, plain
from mergebot.domain.patterns import literal_of
from mergebot.domain.status import Document, hidden_line
from mergebot.domain.wording import count, iso

PATTERNS_SUGGESTED = 20
"""Patterns in the command that would extend a claim: more is a wider claim's business."""


@dataclass(frozen=True, slots=True)
class EarlyNotice:
    """A letter to be rendered; `fresh` and `marker` are as in a candidate's notice."""

    template: str
    facts: Mapping[str, object]
    fresh: str
    marker: str
    digest: str


@dataclass(frozen=True, slots=True)
class Desk:
    """Where the letter is written: the lane, its label, the bot's handle, the PR's page."""

    lane: Lane
    label: str
    handle: str
    page: str


def early_notice(early: Early, desk: Desk, *, after_attempt: int) -> EarlyNotice:
    """Return the letter; `after_attempt` is the attempt that ended before, 0 for none.

    After an ended attempt it has a comment of its own, so that the evidence stays.
    """
    warnings = warnings_of(early)
    document = _document(early, desk, warnings)
    number = len(warnings)
    look = f"{count(number, 'thing')} to look at before it is queued"
    facts: Mapping[str, object] = {
        "hidden": Markdown(hidden_line(document)),
        "doc": document,
        "headline": look if number else "Ready to be queued",
        "early": early,
        "holders": [_holder(each) for each in early.holders],
        "clashes": [_clash(each, desk.lane.trunk) for each in early.clashes],
        "shared": [{"pr": each.pr, "paths": list(each.paths)} for each in early.shared],
        "extend": extending(early, desk.handle),
        "label": desk.label,
        "marker": Markdown(f"<!-- mergebot:early {after_attempt:d} -->"),
    }
    text = json.dumps({**document, "url": ""}, sort_keys=True)
    return EarlyNotice(
        template="notices/early.md.j2",
        facts=facts,
        fresh=f"early:{after_attempt}" if after_attempt else "",
        marker=f"<!-- mergebot:early {after_attempt:d} -->",
        digest=hashlib.sha256(f"early\n{text}".encode()).hexdigest(),
    )


def extending(early: Early, handle: str) -> str:
    """Return the one line that would bring what strays into the claim, "" where none would."""
    if not early.claimed or not early.outside:
        return ""
    words = [_word(path) for path in early.outside[:PATTERNS_SUGGESTED]]
    return f"@{handle} claim {' '.join(words)}"


def _word(path: str) -> str:
    pattern = literal_of(path).replace('"', "?").replace("`", "?")
    return f'"{pattern}"' if " " in pattern else pattern


def warnings_of(early: Early) -> list[str]:
    """Return each warning in one plain sentence, for programs."""
    return [
        *(plain(fault) for fault in early.faults),
        *(plain(stray) for stray in early.strays),
        *(
            plain(f"{each.owner} claims {', '.join(each.patterns[:5])} for {each.task}")
            for each in early.holders
        ),
        *(f"#{each.pr} changes {', '.join(each.paths)} too" for each in early.shared),
        *(
            f"it does not merge with {f'#{each.pr}' if each.pr else 'the trunk'} in "
            f"{', '.join(each.paths)}"
            for each in early.clashes
        ),
        *(plain(text) for text in early.contracts),
    ]


def _holder(holder: Holder) -> Document:
    return {
        "id": holder.id,
        "task": holder.task,
        "owner": holder.owner,
        "claims": list(holder.patterns),
        "since": iso(holder.since),
        "pr": holder.pr or None,
    }


def _clash(clash: Clash, trunk: str) -> Document:
    return {"with": f"#{clash.pr}" if clash.pr else trunk, "paths": list(clash.paths)}


def _document(early: Early, desk: Desk, warnings: Sequence[str]) -> Document:
    clear = not early.warns
    return {
        "v": 1,
        "repo": desk.lane.repo,
        "pr": early.pr,
        "head": early.head,
        "trunk": desk.lane.trunk,
        "state": "open",
        "reason": None,
        "fault": None,
        "position": None,
        "eta_s": None,
        "base": None,
        "merged": None,
        "step": None,
        "command": None,
        "exit_code": None,
        "seconds": None,
        "first_error": None,
        "log_url": None,
        "claimed": list(early.claimed),
        "strayed": list(early.outside),
        "conflicts": [path for each in early.clashes for path in each.paths],
        "attempt": 0,
        "failures_left": None,
        "may_requeue": True,
        "next_action": f"set the label {desk.label}" if clear else "settle what is listed here",
        "repro": [],
        "text": "",
        "url": desk.page,
        "claim": early.claim or None,
        "holders": [_holder(each) for each in early.holders],
        "warnings": list(warnings),
    }
