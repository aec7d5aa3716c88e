"""What an agent may ask: each tool is one question to the running bot, or a look at the checkout.

The docstring of a tool is what the agent reads of it.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread

from mergebot.adapters.bot_api import Bot, Json, of
from mergebot.adapters.claim_tokens import ClaimTokens
from mergebot.domain.scope import Inside, Outside
from mergebot.ports.errors import Refused
from mergebot.wiring.checkout import branch_here
from mergebot.wiring.own_scope import Span, check_claimed, patterns_on

WAIT_S_MAX = 600.0
LOOK_S = 1.0
ENDED = {"landed", "ejected", "cancelled"}
TOLD = (
    "v", "repo", "pr", "state", "reason", "fault", "with", "text", "may_requeue", "next_action",
    "failures_left", "position", "eta_s", "step", "command", "exit_code", "seconds", "first_error",
    "tail", "log_url", "conflicts", "strayed", "claimed", "head", "trunk", "base", "merged", "repro",
    "attempt", "url",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of one agent in one repository, working in `directory`."""

    bot: Bot
    repo: str
    tokens: ClaimTokens
    directory: Path = field(default_factory=Path.cwd)

    def next(self, owner: str = "", branch: str = "", claims: list[str] | None = None) -> Json:
        """Take the next ready task of the backlog, with a claim on its files.

        Nobody else gets the same task. Work on the branch that the answer names, and change only
        files that match `claims` of the answer. `claims` adds patterns such as src/auth/**.
        """
        body: Json = {"owner": owner, "branch": branch}
        return self._owned("next", body | ({"claims": claims} if claims else {}))

    def claim(
        self, task: str, claims: list[str], branch: str = "", owner: str = "",
        assumes: list[str] | None = None,
    ) -> Json:  # fmt: skip
        """Claim files for a task before changing them; refused where somebody holds one of them.

        `claims` are patterns from the root of the repository, such as src/auth/** or docs/x.md.
        `task` is an issue such as #12, or any name. `branch` is the one you will push.
        """
        return self._owned(
            "",
            {
                "task": task,
                "claims": claims,
                "branch": branch or branch_here(self.directory),
                "owner": owner,
                "assumes": assumes or [],
            },
        )

    def extend(self, claim_id: str, claims: list[str]) -> Json:
        """Add patterns to a claim of yours, when the work turns out to need more files."""
        return self._act(claim_id, "extend", {"claims": claims})

    def release(self, claim_id: str, reason: str = "") -> Json:
        """Give a claim back: the work is over without a pull request, or given up."""
        return self._act(claim_id, "release", {"reason": reason})

    def park(self, claim_id: str, reason: str, review: str = "") -> Json:
        """Keep a claim while nobody works on it; `review` is the day to look again, 2026-12-24."""
        body: Json = {"reason": reason}
        return self._act(claim_id, "park", body | ({"review_at": review} if review else {}))

    def report_cost(
        self, claim_id: str, amount: float, unit: str = "", reference: str = ""
    ) -> Json:
        """Say what the task of a claim of yours cost, for the fleet's ceiling.

        Each `reference`, such as the name of a run, counts once; without one it is the claim as a
        whole. Report before you release the claim. `unit` is that of the rules where left out.
        """
        token = self.tokens.known(claim_id).get("token", "")
        body: Json = {"amount": amount, "unit": unit, "reference": reference, "token": token}
        return self.bot.post(of(self.repo, "claims", claim_id, "cost"), body)

    def check_diff(
        self, claim_id: str = "", claims: list[str] | None = None, base: str = ""
    ) -> Json:
        """Check, before pushing, whether the commits of this checkout stay inside the claim.

        Without `claim_id` or `claims` it is the claim on the branch that is checked out. `base` is
        the trunk as fetched, origin/<trunk> where it is left out. Only commits are looked at.
        """
        patterns = claims or self._patterns(claim_id)
        trunk = base or f"origin/{self._get('queue')['trunk']['branch']}"
        match check_claimed(self.directory, patterns, Span(trunk, "HEAD")):
            case Inside(paths):
                return {
                    "inside": True, "paths": list(paths), "strayed": [], "details": [],
                    "next_action": "push",
                }  # fmt: skip
            case Outside(strayed=strayed, details=details):
                return {
                    "inside": False, "paths": [], "strayed": list(strayed),
                    "details": list(details),
                    "next_action": "take these paths out of the commits, or extend the claim",
                }  # fmt: skip

    def enqueue(self, pr: int) -> Json:
        """Put a pull request into the merge queue; asking twice changes nothing."""
        return _told(self.bot.post(of(self.repo, "candidates", pr), {}))

    def status(self, pr: int = 0) -> Json:
        """Return the trunk's health and the queue, or where one pull request stands."""
        if pr:
            return _told(self._get("candidates", pr))
        found = self._get("queue")
        entries = [
            {key: each[key] for key in ("pr", "title", "state", "position", "eta_s", "reason")}
            for each in found["entries"]
        ]
        return {key: found[key] for key in ("trunk", "halted", "recovering")} | {"queue": entries}

    def explain(self, pr: int) -> Json:
        """Say why a pull request was ejected or waits, whose doing it was, and what to do next.

        `may_requeue` tells whether you may try again; `next_action` what has to happen first.
        `tail` is the end of the gate's output, `repro` the commands that show the same failure.
        """
        found = self._get("candidates", pr)
        return _told(found) | {"story": [each["text"] for each in found["story"][-10:]]}

    async def wait(self, pr: int, timeout_s: float = 120.0) -> Json:
        """Wait until a pull request landed, was ejected or cancelled, at most `timeout_s` seconds.

        The bound is 600; `ended` is false where it still goes on: then ask again.
        """
        until = anyio.current_time() + min(max(timeout_s, 0.0), WAIT_S_MAX)
        while True:
            found = await to_thread.run_sync(self._get, "candidates", pr)
            ended = found["state"] in ENDED
            if ended or anyio.current_time() >= until:
                return _told(found) | {"ended": ended}
            await anyio.sleep(LOOK_S)

    def _owned(self, what: str, body: Json) -> Json:
        path = of(self.repo, "claims", what) if what else of(self.repo, "claims")
        found = self.bot.post_once(path, body)
        self.tokens.keep(found)
        # The token stays on this machine: what an agent reads may end up in a transcript.
        return {key: value for key, value in found.items() if key != "token"}

    def _act(self, claim_id: str, what: str, body: Json) -> Json:
        known = self.tokens.known(claim_id)
        if "token" in known:
            body = {**body, "token": known["token"], "generation": known["generation"]}
        found = self.bot.post(of(self.repo, "claims", claim_id, what), body)
        if "token" in known:
            self.tokens.keep(found | {"token": known["token"]})
        return found

    def _patterns(self, claim_id: str) -> list[str]:
        if claim_id:
            return list(self._get("claims", claim_id)["claims"])
        branch = branch_here(self.directory)
        found = patterns_on(self.bot, self.repo, branch)
        if found is not None:
            return found
        where = f"the branch {branch}" if branch else "this checkout"
        raise Refused(f"There is no claim on {where}: claim the files first, or name the claim.")

    def _get(self, *rest: Any) -> Json:
        return self.bot.get(of(self.repo, *rest))


def _told(found: Json) -> Json:
    return {key: found[key] for key in TOLD if key in found}
