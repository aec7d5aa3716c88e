"""What a doctor works with: this host's tools, the Redis, the forge and the queue's record."""

import re
import shutil
import subprocess
from dataclasses import dataclass

from mergebot.adapters.github.checkup import GithubCheckup
from mergebot.adapters.github.client import Client, Server
from mergebot.ports.errors import Refused, Unavailable
from mergebot.services.examining import clock, commit_key
from mergebot.services.findings import Finding
from mergebot.services.inspecting import inspect
from mergebot.settings import Settings
from mergebot.wiring.desk import committer_of, credentials_of, desk, redactor_for
from mergebot.wiring.gates import sandbox, trouble_with
from mergebot.wiring.redis import check_redis, redis_about

GIT_MIN = (2, 39)
"""The oldest git that the tests run on; replaying in memory came with 2.38."""

GIT_ANSWERS_S = 10.0


@dataclass(frozen=True, slots=True)
class Doctor:
    """Looks at everything that these settings name."""

    settings: Settings

    def host(self) -> list[Finding]:
        """Return what this machine brings along."""
        trouble = trouble_with(self.settings.sandbox)
        name = self.settings.sandbox
        shown = Finding("sandbox", f"{name} works here") if not trouble else None
        return [_git(), shown or Finding("sandbox", trouble, "gates cannot run on this host")]

    def redis(self) -> Finding:
        """Return whether Redis is there and fit to hold a queue."""
        if not self.settings.redis:
            text = "MERGEBOT_REDIS_URL is not set and no embedded Valkey runs"
            return Finding("Redis", text, "start `mergebot up`, or set MERGEBOT_REDIS_URL")
        try:
            check_redis(self.settings)
            return Finding("Redis", redis_about(self.settings))
        except (Refused, Unavailable) as error:
            return Finding("Redis", str(error), "nothing works without it")

    def forge(self) -> Finding:
        """Return whether the forge answers, and as whom."""
        try:
            me = desk(self.settings).parts.forge.me()
        except (Refused, Unavailable) as error:
            return Finding("forge", str(error), "check MERGEBOT_GITHUB_URL and the token")
        return Finding("forge", f"{self.settings.github_url} knows the bot as {me.login}")

    def clock(self) -> Finding:
        """Return how this host's clock stands to the forge's."""
        try:
            return clock(self._checkup())
        except (Refused, Unavailable) as error:
            return Finding("clock", str(error), "try again in a while")

    def commit_key(self) -> list[Finding]:
        """Return whether commits can be signed as the settings want it; nothing where they do not."""
        if self.settings.commit_key_file is None:
            return []
        try:
            key = committer_of(self.settings).key
        except Refused as error:
            return [Finding("commit key", str(error), "nothing starts until then")]
        try:
            login = desk(self.settings).parts.forge.me().login
            line, email = key.line if key else "", self.settings.commit_email
            return [commit_key(self._checkup(), line, email, login=login)]
        except (Refused, Unavailable) as error:
            return [Finding("commit key", str(error), "see that its account exists")]

    def repositories(self) -> list[Finding]:
        """Return what is found about each repository; needs Redis and the forge."""
        parts, checkup = desk(self.settings).parts, self._checkup()
        try:
            names = self.settings.repos or parts.forge.reachable()
        except (Refused, Unavailable) as error:
            return [Finding("installations", str(error), "check the App and its key")]
        gates = sandbox(self.settings.sandbox)
        found = [each for repo in names for each in inspect(parts, checkup, repo, sandbox=gates)]
        if not names:
            advice = "install it on the repositories that want a queue"
            found.append(Finding("installations", "the App is not installed anywhere", advice))
        aside = parts.inbox.aside()
        if aside:
            advice = "the log names them (delivery_set_aside); what they told is found anyway"
            found.append(Finding("inbox", f"{aside} deliveries could not be handled", advice))
        return found

    def _checkup(self) -> GithubCheckup:
        server = Server(redactor_for(self.settings), self.settings.github_url)
        credentials = credentials_of(self.settings, server)
        return GithubCheckup(Client(server, credentials), credentials.app)


def _git() -> Finding:
    path = shutil.which("git")
    if path is None:
        return Finding("git", "there is none on PATH", "install git 2.39 or newer")
    done = subprocess.run(
        [path, "--version"], capture_output=True, text=True, check=False, timeout=GIT_ANSWERS_S
    )
    numbers = tuple(map(int, re.findall(r"\d+", done.stdout)[:2]))
    advice = "" if numbers >= GIT_MIN else "install git 2.39 or newer"
    return Finding("git", done.stdout.strip() or "it does not tell its version", advice)
