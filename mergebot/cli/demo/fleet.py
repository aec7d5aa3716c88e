"""`mergebot demo --fleet`: agents as processes, a backlog, and everything that goes wrong with both.

It ends once every task landed, was escalated to a person, or is parked with a reason.
"""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

import click

from mergebot.adapters.bot_api import Declined, Json, of
from mergebot.cli.demo.hub import Person
from mergebot.cli.demo.play import PlayError
from mergebot.cli.demo.stage import Stage
from mergebot.cli.printing import clean, table
from mergebot.ports.errors import Refused, Unavailable

AGENTS = 12
BACKLOG, QUESTION = "agents", "needs-a-person"
TASK_S = 45.0
"""How long each task may take before the demo gives up, all in all."""

FILES: Mapping[str, str] = {
    ".mergebot.toml": f"""\
[queue]
batch = 4

[claims]
required = true

[budget]
failures = 2

[fleet]
backlog_label = "{BACKLOG}"
question_label = "{QUESTION}"

[[gate.steps]]
name = "test"
run = "! ls work/*.broken"
""",
    "work/readme.txt": "What the fleet makes.\n",
}
SETTINGS = {"MERGEBOT_RECONCILE_SECONDS": "3", "MERGEBOT_WORKERS": "4"}
TROUBLE = ("shared", "stray", "shared", "die", "park", "shared", "broken", "die-late")


@dataclass(slots=True)
class Fleet:
    """The agents' processes, the tasks by number, and what became of each."""

    stage: Stage
    tasks: list[int] = field(default_factory=list)
    people: list[Person] = field(default_factory=list)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    ends: dict[int, str] = field(default_factory=dict)
    orphans: list[Json] = field(default_factory=list)
    given_back: set[str] = field(default_factory=set)
    deaths: int = 0
    reconciled: int = 0
    began: float = field(default_factory=monotonic)

    @property
    def room(self) -> Path:
        """Return where the agents' files are."""
        return self.stage.home / "agents"

    def run(self, count: int, agents: int = AGENTS) -> int:
        """Play with `count` tasks; return 0 where every one ended as it may; raises PlayError."""
        self.room.mkdir()
        self._write_backlog(count)
        self._invite(agents)
        self.began = monotonic()
        click.echo(f"{count} tasks for {agents} agents, each a process of its own ...")
        try:
            done = self.stage.wait(self._look, count * TASK_S)
            seconds = monotonic() - self.began
        finally:
            self._stop()
        lost = self._lost()
        self._show(seconds)
        for number in [each for each in self.tasks if each not in self.ends]:
            click.echo(f"#{number} came to no end.", err=True)
        for number in lost:
            click.echo(
                f"#{number} {self.ends[number]}, and its work is not where it should be.", err=True
            )
        unproven = sum(how == "landed" for how in self.ends.values()) - self._receipts()
        if unproven:
            click.echo(f"{unproven} landings have no receipt in git.", err=True)
        return 0 if done and not lost and not unproven else 1

    def _write_backlog(self, count: int) -> None:
        hub, repo, grace = self.stage.hub, self.stage.repo, self.stage.cast.grace
        for number in range(count):
            kind = TROUBLE[number // 3 % len(TROUBLE)] if number % 3 == 0 else ""
            labels = [BACKLOG, f"p{number % 5}", *([f"demo:{kind}"] if kind else [])]
            made = hub.ask(grace, "POST", f"/repos/{repo}/issues", {"title": f"Task {number}"})
            mine = f"work/task-{made['number']}"
            block = f'```mergebot\nclaims = ["{mine}.txt", "{mine}.broken"]\n```\n'
            edit = {"body": block, "labels": labels}
            hub.ask(grace, "PATCH", f"/repos/{repo}/issues/{made['number']}", edit)
            self.tasks.append(int(made["number"]))

    def _invite(self, agents: int) -> None:
        hub, repo = self.stage.hub, self.stage.repo
        for number in range(1, agents + 1):
            person = hub.person(f"worker-{number}")
            hub.allow(repo, self.stage.cast.grace, person, "push")
            self.people.append(person)
            self._start(person)

    def _start(self, person: Person) -> None:
        file = self.room / f"{person.login}.json"
        told = {
            "login": person.login, "token": person.token, "hub": self.stage.hub.url,
            "bot": self.stage.bot.address, "repo": self.stage.repo,
            "clone": str(self.room / person.login), "url": f"{self.stage.hub.url}/{self.stage.repo}.git",
        }  # fmt: skip
        file.touch(mode=0o600)
        file.write_text(json.dumps(told))
        command = [sys.executable, "-m", "mergebot.cli.demo.fleet_agent", str(file)]
        with (self.room / f"{person.login}.log").open("ab") as log:
            self.running[person.login] = subprocess.Popen(command, stdout=log, stderr=log)

    def _look(self) -> bool:
        """See who died and which tasks ended; tell whether all did."""
        try:
            self._bury()
            self._note_ends()
        except (Refused, Unavailable):
            return False
        return len(self.ends) == len(self.tasks)

    def _bury(self) -> None:
        """Replace agents that died, and give back what they held: an operator knows that they did."""
        dead = [each for each in self.people if self.running[each.login].poll() is not None]
        if dead:
            owners = {each.login for each in dead}
            self.orphans += [each for each in self._active() if each["owner"] in owners]
        for person in dead:
            self.deaths += 1
            click.echo(f"  {person.login} died; its tasks go on with somebody else")
            self._start(person)
        if self.given_back:
            # What the dead proposed last is heard of after their claims were given back.
            late = [each for each in self._active() if each["id"].startswith("pr-")]
            self.orphans += [each for each in late if each["task"] in self.given_back]
        while self.orphans:
            with suppress(Declined):
                # What came to its end meanwhile needs nobody.
                self._reconcile(self.orphans[-1])
                self.reconciled += 1
            self.orphans.pop()

    def _active(self) -> list[Json]:
        return [each for each in self._claims() if each["state"] == "active"]

    def _claims(self) -> list[Json]:
        claims: list[Json] = self.stage.bot.get(of(self.stage.repo, "claims"))["claims"]
        return claims

    def _reconcile(self, claim: Json) -> None:
        bot, repo = self.stage.bot, self.stage.repo
        if claim["pr"]:
            self.given_back.discard(claim["task"])
            bot.post(of(repo, "candidates", claim["pr"]), {})
            return
        self.given_back.add(claim["task"])
        path = of(repo, "claims", claim["id"])
        heir = bot.post(f"{path}/reclaim", {"generation": claim["generation"]})
        right = {"token": heir["token"], "generation": heir["generation"]}
        bot.post(f"{path}/release", right | {"reason": "its agent died"})

    def _note_ends(self) -> None:
        repo, hub = self.stage.repo, self.stage.hub
        landings = self.stage.bot.get(f"{of(repo, 'landings')}?per_page=1000")["landings"]
        path = f"/repos/{repo}/issues?labels={QUESTION}&per_page=100"
        ends = {int(each["number"]): "escalated" for each in hub.ask(hub.admin, "GET", path)}
        parked = [each["task"] for each in self._claims() if each["state"] == "parked"]
        ends |= {int(task.removeprefix("#")): "parked" for task in parked}
        ends |= {int(str(each["task"]).removeprefix("#")): "landed" for each in landings}
        for number in sorted(ends.keys() - self.ends.keys()):
            click.echo(f"{monotonic() - self.began:6.1f} s  #{number} {ends[number]}")
        self.ends = {number: how for number, how in ends.items() if number in self.tasks}

    def _lost(self) -> list[int]:
        """Return landed tasks whose file is not on the trunk, and escalated ones without a branch."""
        clone, who = self.stage.clone, self.stage.cast.grace
        tip = clone.fetch(who)
        there = set(clone.git(who, "ls-tree", "--name-only", f"{tip}:work").split())
        heads = clone.git(who, "ls-remote", "--heads", clone.url)
        branches = {line.partition("refs/heads/")[2] for line in heads.splitlines()}
        kept = {"landed": {name.removesuffix(".txt") for name in there}, "escalated": branches}
        return [
            number
            for number, how in self.ends.items()
            if how in kept and f"task-{number}" not in kept[how]
        ]

    def _receipts(self) -> int:
        """Return how many landings git itself has a receipt of."""
        clone, who = self.stage.clone, self.stage.cast.grace
        clone.git(who, "fetch", "--quiet", clone.url, "+refs/notes/mergebot:refs/notes/mergebot")
        return len(clone.git(who, "notes", "--ref=mergebot", "list").splitlines())

    def _show(self, seconds: float) -> None:
        ends = Counter(self.ends.values())
        events = self.room / "events.jsonl"
        noted = (
            [json.loads(line) for line in events.read_text().splitlines()]
            if events.exists()
            else []
        )
        did = Counter(str(each["what"]) for each in noted)
        rows = [
            ("tasks", str(len(self.tasks))),
            *((how, str(ends[how])) for how in ("landed", "escalated", "parked")),
            ("receipts in git", str(self._receipts())),
            ("landed in a minute", f"{60 * ends['landed'] / max(seconds, 1):.1f}"),
            ("retries", str(did["retry"])),
            ("collisions", str(did["collision"])),
            ("agents that died", str(self.deaths)),
            ("reconciled claims", str(self.reconciled)),
            ("seconds", f"{seconds:.0f}"),
        ]
        click.echo()
        for line in table(("WHAT", "HOW MANY"), rows):
            click.echo(line)
        for each in noted:
            if each["what"] == "trouble":
                click.echo(f"{each['by']}: {clean(str(each['text']))}", err=True)

    def _stop(self) -> None:
        """Kill the agents: dying at any moment is what they are for."""
        for process in self.running.values():
            process.kill()
        for process in self.running.values():
            process.wait()


def play(stage: Stage, tasks: int) -> int:
    """Run the fleet and return the exit code; raises PlayError for too few tasks."""
    if not tasks:
        raise PlayError("a fleet needs a task")
    return Fleet(stage).run(tasks)
