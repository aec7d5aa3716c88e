"""What a memory forge tells, as the body of a delivery and read back from it."""

import json
from dataclasses import fields
from typing import Any

from mergebot.domain.ids import Actor, Sha
from mergebot.domain.news import (
    CheckAsked,
    CommentMade,
    Ignored,
    LabelSet,
    News,
    PullFacts,
    PullMoved,
    RepositoryChanged,
    ReviewGiven,
    TrunkPushed,
)


def news_body(news: News) -> bytes:
    """Return the body of the delivery that says `news`."""
    return json.dumps({"kind": type(news).__name__, **_fields(news)}, default=_fields).encode()


def _fields(value: Any) -> dict[str, object]:
    """Return a dataclass's own fields; unlike `asdict`, it copies nothing."""
    return {each.name: getattr(value, each.name) for each in fields(value)}


def read_news(event: str, body: bytes) -> News:
    """Return what a delivery says; raises ValueError for a body that is none."""
    said = json.loads(body)
    for name in ("actor", "sender", "author"):
        if name in said:
            said[name] = Actor(**said[name])
    match said.pop("kind", ""):
        case "LabelSet":
            facts = said.pop("pull")
            facts["author"] = Actor(**facts["author"])
            return LabelSet(pull=PullFacts(**facts), **said)
        case "PullMoved":
            return PullMoved(**said)
        case "CommentMade":
            return CommentMade(**said)
        case "TrunkPushed":
            return TrunkPushed(**{**said, "after": Sha(said["after"])})
        case "ReviewGiven":
            return ReviewGiven(**said)
        case "CheckAsked":
            return CheckAsked(**said)
        case "RepositoryChanged":
            return RepositoryChanged(**said)
        case kind:
            return Ignored(f"{event} says {kind!r}, which nobody reads")
