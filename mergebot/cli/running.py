"""`mergebot up`, `web`, `worker`, `reconciler`: the parts that run until they are stopped."""

import gc
import http.client
import json
import socket
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from http import HTTPStatus
from importlib import import_module
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from mergebot.adapters.processes import call_oneself
from mergebot.cli.address import check_address
from mergebot.cli.supervisor import CannotStart, Interrupted, Part, Supervisor
from mergebot.settings import Need, Settings, admin_token, load

if TYPE_CHECKING:
    from mergebot.cli.watching import Sign
    from mergebot.wiring.redis import Mendable

DRAIN_S = 20.0
"""How long a stopping worker may finish its gates; what is cut off is gated again."""

READY_S = 180.0
"""How long everything may take to come up: on a host that is busy with others, minutes."""

SILENT_S = 60.0
"""How long a part may show no progress before it is stopped and started again."""

MISSED_ROUNDS = 4
"""Rounds of the reconciler in which it may be busy with a slow forge beyond that."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the addresses as JSON.")
def up(*, as_json: bool) -> None:
    """Run web, workers and reconciler; with a Redis of their own unless MERGEBOT_REDIS_URL."""
    from mergebot.cli.watching import Watch  # noqa: PLC0415  # slow to import

    settings = load(Need.FORGE | Need.WEBHOOKS)
    check_address(settings)
    from mergebot.wiring.redis import check_redis, embedded  # noqa: PLC0415  # slow to import

    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with nullcontext() if settings.redis_url else embedded(settings.home) as server:
        check_redis(settings)
        admin_token(settings)
        with _supervised([_part("web"), _part("reconciler"), *_pools()]) as supervisor:
            with suppress(Interrupted):
                if not supervisor.watch(until=lambda: _answers(settings), within_s=READY_S):
                    raise click.ClickException(f"Nothing answers at {settings.address} yet.")
                _say_ready(settings, as_json=as_json)
                watch = Watch(_signs(settings), supervisor.restart)

                def beside() -> None:
                    _mend(server)
                    watch.look()

                supervisor.run(beside)
            click.echo("Stopping; running gates may finish (Ctrl-C again: at once).", err=True)


@click.command()
def web() -> None:
    """Run the pages, the API and the receiver of webhooks."""
    settings = load(Need.FORGE | Need.WEBHOOKS | Need.REDIS)
    check_address(settings)
    from mergebot.cli.serving import serve  # noqa: PLC0415  # slow to import

    serve(settings)


@click.command()
@click.option("--slots", type=click.IntRange(1, 256), help="Gates at once [MERGEBOT_WORKERS].")
@click.option("--pool", type=click.Choice(["gate", "hands"]), help="Run only this half of it.")
def worker(slots: int | None, pool: str | None) -> int:
    """Run gates (the pool `gate`), decisions and notices (the pool `hands`)."""
    settings = load(Need.FORGE | Need.REDIS)
    if slots is not None:
        settings = settings.model_copy(update={"workers": slots})
    if pool is not None:
        from mergebot.worker.process import Pool, run_worker  # noqa: PLC0415  # slow to import

        return run_worker(settings, Pool(pool))
    with _supervised(_pools(settings.workers)) as supervisor:
        supervisor.run()
    return 0


@click.command()
def reconciler() -> None:
    """Compare queue, forge and git, again and again, and repair what differs."""
    settings = load(Need.FORGE | Need.REDIS)
    from mergebot.worker.reconciler import run_reconciler  # noqa: PLC0415  # slow to import

    run_reconciler(settings)


def _signs(settings: Settings) -> "list[Sign]":
    from mergebot.cli.watching import Sign  # noqa: PLC0415  # slow to import
    from mergebot.wiring.redis import pulse_of  # noqa: PLC0415  # slow to import

    last = pulse_of(settings)
    host = socket.gethostname()
    rounds_s = MISSED_ROUNDS * settings.reconcile_seconds
    return [
        Sign("web", lambda: _status(settings) and monotonic(), SILENT_S),
        Sign("reconciler", lambda: last("reconciler"), SILENT_S + rounds_s),
        Sign("worker (gate)", lambda: last(f"gate@{host}"), SILENT_S),
        Sign("worker (hands)", lambda: last(f"hands@{host}"), SILENT_S),
    ]


def _mend(server: "Mendable | None") -> None:
    if server is not None and server.mend():
        click.echo("mergebot: the embedded Valkey fell and was started again", err=True)


def _part(name: str) -> Part:
    return Part(name, partial(_again, name))


def _pools(slots: int | None = None) -> list[Part]:
    size = ("--slots", str(slots)) if slots else ()
    return [
        Part(
            f"worker ({pool})",
            partial(_again, "worker", *size, "--pool", pool),
            rank=1,
            stop_within_s=DRAIN_S,
        )
        for pool in ("gate", "hands")
    ]


def _again(*words: str) -> int:
    """Run a command of ours in a copy of this process, named after its last word."""
    from mergebot.cli.main import run  # noqa: PLC0415  # it names this module

    call_oneself(f"mergebot-{words[-1]}")
    return run(list(words))


def _import_all() -> None:
    """Import once what every part needs; their processes are copies of this one."""
    for module in ("mergebot.cli.serving", "mergebot.worker.process", "mergebot.worker.reconciler"):
        import_module(module)
    gc.collect()
    gc.freeze()


@contextmanager
def _supervised(parts: Iterable[Part]) -> Iterator[Supervisor]:
    _import_all()
    try:
        with Supervisor(lambda text: click.echo(f"mergebot: {text}", err=True)) as supervisor:
            for part in parts:
                supervisor.start(part)
            yield supervisor
    except CannotStart as error:
        raise click.ClickException(f"{error} What it said is above.") from None


def _answers(settings: Settings) -> bool:
    return _status(settings) == HTTPStatus.OK


def _status(settings: Settings) -> int:
    """Return what the web answers about itself, 0 where it says nothing: a refusal is no silence."""
    parts = urlsplit(settings.address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def _say_ready(settings: Settings, *, as_json: bool) -> None:
    about = {
        "pages": settings.pages,
        "api": f"{settings.pages}/api/v1",
        "webhooks": f"{settings.pages}/hooks/github",
        "home": str(settings.home),
        "repos": list(settings.repos),
    }
    text = f"mergebot is up: {about['pages']}  (webhooks go to {about['webhooks']})"
    click.echo(json.dumps(about) if as_json else text)
    sys.stdout.flush()
