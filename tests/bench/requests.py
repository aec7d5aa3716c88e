"""What one landing costs of a forge's quota, counted by the forge itself."""

from collections.abc import Iterator

from tests.bench.fleet import check_landed, gate_of, land_by_product, make_fleet
from tests.bench.report import Row, at_most
from tests.bench.stack import Stack, stack, wait

COUNT = 20


def measure() -> Iterator[Row]:
    """Land twenty with four workers and read the bot's own quota before and after."""
    with stack() as running:
        fleet = make_fleet(running, "fleet", gate_of(0.5), count=COUNT)
        bot = running.bot([fleet.repo], workers=4)
        before = running.requests_of(bot.account)
        land_by_product(running, fleet)
        wait(lambda: bot.empty(fleet.repo), "an empty queue", within_s=30)
        wait(lambda: not _labelled(running, fleet.repo), "the last label's removal", within_s=60)
        check_landed(running, fleet)
        used = running.requests_of(bot.account) - before
    detail = "API requests of the bot's token from label to last comment"
    yield Row("requests", "API requests a landing", used / COUNT, "", at_most(12), detail)


def _labelled(running: Stack, repo: str) -> bool:
    found = running.hub.ask(
        running.owner, "GET", f"/repos/{repo}/issues?labels=merge-queue&state=all"
    )
    return bool(found)
