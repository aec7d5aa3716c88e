"""The critical section: from a recorded verdict until the trunk has moved, against a bare push."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep, time

from tests.bench.fleet import LABEL, Fleet, gate_of, git, make_fleet
from tests.bench.record import runs
from tests.bench.report import Row, Samples, at_most
from tests.bench.stack import Bot, Stack, stack, wait

COUNT = 10
LOOK_S = 0.001


@dataclass(slots=True)
class Watch:
    """Notes when a ref moved, by reading its file each millisecond."""

    ref: Path
    moved_at: dict[str, float] = field(default_factory=dict)
    _over: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        """Look until told to stop."""
        last = ""
        while not self._over.is_set():
            now = self.ref.read_text().strip()
            if now != last:
                self.moved_at[now] = time()
                last = now
            sleep(LOOK_S)

    def stop(self) -> None:
        """End the looking."""
        self._over.set()


def verdict_to_trunk() -> Iterator[Row]:
    """Land one by one, and push one commit by hand after each, over the same HTTP address."""
    with stack() as running:
        fleet = make_fleet(running, "landed", gate_of(0.3), count=COUNT)
        other = make_fleet(running, "pushed", gate_of(0), count=1)
        bot = running.bot([fleet.repo], workers=1)
        clone, commits = _commits(running, other)
        ours, push = Samples(), Samples()
        for number, commit in zip(fleet.pulls, commits, strict=True):
            ours.add(_land_one(running, bot, fleet, number))
            begun = monotonic()
            git(clone, "push", "--quiet", "origin", f"{commit}:refs/heads/main", who=running.owner)
            push.add(monotonic() - begun)
    detail = f"landing {ours.median * 1000:.0f} ms, push {push.median * 1000:.0f} ms; {COUNT} pairs"
    ratio = ours.median / push.median
    yield Row("git", "verdict to trunk over a bare push", ratio, "x", at_most(2.5), detail)


def _land_one(running: Stack, bot: Bot, fleet: Fleet, number: int) -> float:
    """Return the seconds from the verdict of one pull request to the trunk's move."""
    before = fleet.tip
    watch = Watch(fleet.bare / "refs/heads/main")
    looking = threading.Thread(target=watch.look)
    looking.start()
    try:
        running.hub.add_label(fleet.repo, running.owner, number, LABEL)
        wait(lambda: fleet.tip != before, f"the landing of #{number}", within_s=60)
        wait(lambda: bot.empty(fleet.repo), "an empty queue", within_s=30)
    finally:
        watch.stop()
        looking.join()
    moved = [at for sha, at in watch.moved_at.items() if sha != before]
    return moved[0] - runs(bot, fleet, number)[-1].ended_at


def _commits(running: Stack, other: Fleet) -> tuple[Path, list[str]]:
    clone = running.home / "pushed-clone"
    url = f"{running.hub.url}/{other.repo}.git"
    git(running.home, "clone", "--quiet", url, str(clone), who=running.owner)
    for n in range(COUNT):
        (clone / f"pushed-{n}").write_text(f"{n}\n")
        git(clone, "add", "--all")
        git(clone, "commit", "--quiet", "--message", f"Push {n}")
    listing = git(clone, "rev-list", "--reverse", f"--max-count={COUNT}", "HEAD")
    return clone, listing.split()
