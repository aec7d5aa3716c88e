"""Whether commits of a checkout stay inside a claim, asked of the running bot before a push."""

import json
from dataclasses import dataclass
from pathlib import Path

from mergebot.adapters.bot_api import Bot, of
from mergebot.domain.reasons import Reason
from mergebot.domain.scope import Enqueuer, Inside, Outside
from mergebot.wiring.checkout import Question, check_checkout


@dataclass(frozen=True, slots=True)
class Span:
    """Commits by any name: what `head` adds to `base`."""

    base: str
    head: str


def patterns_on(bot: Bot, repo: str, branch: str) -> list[str] | None:
    """Return what the live claim on a branch allows, None where there is none."""
    for each in bot.get(of(repo, "claims"))["claims"]:
        if branch and each["id"] and each["branch"] == branch:
            return list(each["claims"])
    return None


def check_claimed(directory: Path, patterns: list[str] | None, span: Span) -> Inside | Outside:
    """Return whether commits stay inside `patterns`, or inside the rules where it is None."""
    if patterns is not None and not patterns:
        told = "The claim names no files yet: extend it by those that you change."
        return Outside(Reason.OUT_OF_SCOPE, (), (told,))
    block = ""
    if patterns is not None:
        listed = json.dumps(patterns, ensure_ascii=False)
        block = f'```mergebot\ntask = "check"\nclaims = {listed}\n```\n'
    return check_checkout(directory, Question(span.base, span.head, block, Enqueuer.MEMBER))
