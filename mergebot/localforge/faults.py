"""Trouble on request: what a test asks the forge to do wrong, how often, and where."""

import re
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from mergebot.localforge.errors import ApiError, custom

KINDS = (
    "error_before",
    "error_after",
    "delay_s",
    "rate_limit",
    "stale_refs",
    "drop_webhooks",
    "duplicate_webhooks",
    "reorder_webhooks",
)
ALWAYS = 1_000_000_000


@dataclass(slots=True)
class Rule:
    """One rule: where it applies, what it does, and how many times it still will."""

    id: int
    kind: str
    method: re.Pattern[str]
    path: re.Pattern[str]
    left: int
    detail: dict[str, Any] = field(default_factory=dict)

    def shown(self) -> dict[str, Any]:
        """Return the rule as JSON."""
        where = {"method": self.method.pattern, "path": self.path.pattern}
        return {"id": self.id, "kind": self.kind, "times": self.left} | where | self.detail


class Faults:
    """The rules in force, held in memory: a restart ends all trouble."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._rules: list[Rule] = []
        self._next = 1
        self._ended = threading.Event()
        self._moved: dict[tuple[int, str], tuple[str, float]] = {}

    def add(self, asked: dict[str, Any]) -> Rule:
        """Add a rule from its JSON; refuse an unknown kind or a broken pattern."""
        kind = asked.get("kind")
        if kind not in KINDS:
            raise custom("Fault", f"kind is {kind!r}; allowed are {', '.join(KINDS)}", "kind")
        detail = {k: v for k, v in asked.items() if k not in {"kind", "method", "path", "times"}}
        try:
            method = re.compile(str(asked.get("method", ".*")))
            path = re.compile(str(asked.get("path", ".*")))
            left = int(asked.get("times", ALWAYS))
        except (re.error, ValueError) as error:
            raise custom("Fault", f"the rule does not parse: {error}") from error
        with self._guard:
            rule = Rule(self._next, str(kind), method, path, left, detail)
            self._next += 1
            self._rules.append(rule)
        return rule

    def close(self) -> None:
        """End every wait under way: the forge stops."""
        self._ended.set()

    def all(self) -> list[Rule]:
        """Return the rules still in force."""
        with self._guard:
            return list(self._rules)

    def remove(self, rule_id: int | None) -> None:
        """End one rule, or all of them."""
        with self._guard:
            self._rules = [r for r in self._rules if rule_id is not None and r.id != rule_id]

    def take(self, kind: str, method: str, path: str) -> Rule | None:
        """Return the first rule of a kind that applies here, and count it as used once."""
        if not self._rules or path.startswith("/_forge/"):
            return None
        with self._guard:
            for rule in self._rules:
                fits = rule.kind == kind and rule.method.fullmatch(method)
                if fits and rule.path.search(path):
                    rule.left -= 1
                    if rule.left <= 0:
                        self._rules.remove(rule)
                    return rule
        return None

    def before(self, method: str, path: str) -> None:
        """Raise or wait as a rule wants it, before a request has had any effect."""
        if not self._rules:
            return
        if rule := self.take("delay_s", method, path):
            self._ended.wait(float(rule.detail.get("seconds", 1)))
        if rule := self.take("error_before", method, path):
            message = str(rule.detail.get("message", "Server Error"))
            raise ApiError(int(rule.detail.get("status", 502)), message)
        if rule := self.take("rate_limit", method, path):
            raise RateLimitedError(
                int(rule.detail.get("status", 403)), rule.detail.get("retry_after")
            )

    def moved(self, repo_id: int, ref: str, old: str) -> None:
        """Remember what a ref was, for readers that shall see it stale."""
        if any(r.kind == "stale_refs" for r in self._rules):
            self._moved[repo_id, ref] = (old, time.monotonic())

    def stale(self, repo_id: int, ref: str) -> str | None:
        """Return the value a reader shall see instead of the present one, or None."""
        rule = next((r for r in self._rules if r.kind == "stale_refs" and r.path.search(ref)), None)
        seen = self._moved.get((repo_id, ref))
        if rule is None or seen is None:
            return None
        return (
            seen[0] if time.monotonic() - seen[1] < float(rule.detail.get("seconds", 1)) else None
        )


class RateLimitedError(ApiError):
    """A caller is told to wait, with or without a word on how long."""

    def __init__(self, status: int, retry_after: int | None) -> None:
        primary = retry_after is None
        kind = "API rate limit exceeded" if primary else "You have exceeded a secondary rate limit"
        super().__init__(status, f"{kind}. Please wait a few minutes before you try again.")
        self.retry_after = retry_after
