"""One agent of the fleet's demo, as a process of its own: take a task, do it, land it, again.

What goes wrong is in the task's labels, so that a run can be told in advance: `demo:stray` changes
a file outside its claim first, `demo:broken` never gets green, `demo:die` and `demo:die-late` end
the process at once, `demo:park` needs somebody's word, `demo:shared` needs a file that others need.
"""

import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_urlsafe
from threading import Event

from mergebot.adapters.bot_api import Bot, Declined, Json, of
from mergebot.cli.demo.hub import Clone, Hub, HubError, Person
from mergebot.cli.demo.sample import Change, Edit
from mergebot.ports.errors import Refused, Unavailable

LOOK_S = 0.5
IDLE_S = 2.0
WAIT_S = 300.0
TRIES_MAX = 8
SHARED = "work/shared.txt"


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent: its account, its clone, the bot and the forge, and where it notes what it did."""

    person: Person
    hub: Hub
    bot: Bot
    repo: str
    clone: Clone
    room: Path
    still: Event

    def work(self) -> None:
        """Do one task after the other until the process is stopped."""
        session = token_urlsafe(32)
        while True:
            try:
                task = self.bot.post(of(self.repo, "claims", "next"), {"session": session})
            except (Declined, Unavailable):
                # Each look lists the whole backlog, so those without work do not look all the time.
                self.still.wait(IDLE_S)
                continue
            session = token_urlsafe(32)
            try:
                self._do(task)
            except (Refused, Unavailable, HubError) as error:
                self._note("trouble", str(error))
                # Whoever finds the claim taken over meanwhile has nothing to give back.
                with suppress(Refused, Unavailable):
                    self._act(task, "release", {"reason": "it did not work out"})

    def _do(self, task: Json) -> None:
        kinds = set(task["labels"])
        if "demo:die" in kinds:
            self._die_once(task)
        if "demo:park" in kinds:
            self._act(task, "park", {"reason": "needs a word from the shop's owner"})
            self._note("parked", task["task"])
            return
        if "demo:shared" in kinds:
            task = self._with_shared(task)
        pr = self._open(task)
        if "demo:die-late" in kinds:
            self._die_once(task)
        for _ in range(TRIES_MAX):
            with suppress(Declined):
                # What is not queued has ended at once, and says why like everything that ends.
                self._patiently(lambda: self.bot.post(of(self.repo, "candidates", pr), {}))
            ended = self._wait(pr)
            if ended["state"] == "landed" or not ended["may_requeue"]:
                return
            self._note("retry", f"{task['task']} {ended['reason']}")
            if ended["state"] == "ejected":
                kinds -= {"demo:stray"}
                self._push(task, kinds, again=True)
            # A forge tells times in whole seconds: what was pushed in this one is asked for later.
            self.still.wait(4 * LOOK_S)

    def _with_shared(self, task: Json) -> Json:
        while True:
            try:
                return task | self._act(task, "extend", {"claims": [SHARED]})
            except Declined as refused:
                if "holders" not in refused.answer:
                    raise
                self._note("collision", task["task"])
                self.still.wait(4 * LOOK_S)

    def _open(self, task: Json) -> int:
        change = self._push(task, set(task["labels"]), again=False)
        head = f"{self.repo.partition('/')[0]}:{task['branch']}"
        path = f"/repos/{self.repo}/pulls?state=open&head={head}"
        if known := self.hub.ask(self.person, "GET", path):
            return int(known[0]["number"])
        return self.hub.open_pull(self.repo, self.person, task["branch"], change)

    def _push(self, task: Json, kinds: set[str], *, again: bool) -> Change:
        name = f"work/task-{task['issue']}"
        edits = [Edit(f"{name}.txt", f"{task['title']}\n{'again' if again else 'first'}\n")]
        edits += [Edit("stray.txt", f"{task['task']}\n")] if "demo:stray" in kinds else []
        broken = f"{task['task']} {os.urandom(4).hex()}\n"
        edits += [Edit(f"{name}.broken", broken)] if "demo:broken" in kinds else []
        edits += [Edit(SHARED, f"{task['task']}\n")] if "demo:shared" in kinds else []
        change = Change(self.person.login, str(task["task"]), tuple(edits), tuple(task["claims"]))
        self.clone.make(self.person, change, base=self.clone.fetch(self.person))
        target = f"HEAD:refs/heads/{task['branch']}"
        self.clone.git(self.person, "push", "--quiet", "--force", self.clone.url, target)
        return change

    def _wait(self, pr: int) -> Json:
        for _ in range(int(WAIT_S / LOOK_S)):
            found = self._patiently(lambda: self.bot.get(of(self.repo, "candidates", pr)))
            if found["state"] in {"landed", "ejected", "cancelled"}:
                return found
            self.still.wait(LOOK_S)
        raise Unavailable(f"#{pr} did not end within {WAIT_S:g} s")

    def _act(self, task: Json, what: str, body: Json) -> Json:
        path = of(self.repo, "claims", task["id"])

        def act() -> Json:
            own: Json = {"token": task["token"], "generation": task["generation"]}
            try:
                return self.bot.post(f"{path}/{what}", own | body)
            except Unavailable:
                # It may have been done without an answer, which gives the claim a new generation.
                task["generation"] = self._patiently(lambda: self.bot.get(path))["generation"]
                raise

        found = self._patiently(act)
        task["generation"] = found["generation"]
        return found

    def _patiently(self, ask: Callable[[], Json]) -> Json:
        """Ask until the bot answers: it may be starting again."""
        while True:
            try:
                return ask()
            except Unavailable:
                self.still.wait(IDLE_S)

    def _die_once(self, task: Json) -> None:
        stone = self.room / f"died-{task['issue']}"
        if not stone.exists():
            stone.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def _note(self, what: str, text: str) -> None:
        with (self.room / "events.jsonl").open("a") as file:
            file.write(json.dumps({"what": what, "by": self.person.login, "text": text}) + "\n")


def main(file: Path) -> None:
    """Work as the agent that a file describes."""
    told = json.loads(file.read_text())
    person = Person(told["login"], told["token"])
    clone = Clone(Path(told["clone"]), told["url"])
    if not clone.path.exists():
        clone.path.mkdir(parents=True)
        clone.git(person, "init", "--quiet", "--initial-branch=main")
    hub = Hub(told["hub"], person)
    bot = Bot(told["bot"], person.token)
    Agent(person, hub, bot, told["repo"], clone, file.parent, Event()).work()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
