"""Gating on any host: where the commits of a gate come from, and who hears that it ended."""

import structlog

from mergebot.domain.ids import Lane
from mergebot.domain.lane import RunOrder
from mergebot.ports.errors import Unavailable
from mergebot.ports.sandbox import Sandbox, SandboxFailed, Workspaces
from mergebot.ports.store import Store
from mergebot.services.chain import Chain, bring_tip
from mergebot.services.external import Trial, Watch
from mergebot.services.gatekeeper import Gatekeeper, Source, TrialEnd
from mergebot.services.parts import Parts
from mergebot.services.repositories import git_of

log = structlog.get_logger()


def gate(parts: Parts, keeper: Gatekeeper, lane: Lane, run: str) -> None:
    """Run the gate `run` on this host, and ring for the decision that follows from its result.

    Raises Unavailable and Refused; the run is then found untaken or silent, and ordered anew.
    """
    snapshot = parts.store.read(lane)
    if snapshot.tip is None:
        log.info("gate_without_trunk", run=run)
        return
    git = git_of(parts, lane)
    chain = Chain(git, snapshot)
    bring_tip(git, snapshot)

    def trial(order: RunOrder, watch: Watch) -> TrialEnd:
        return Trial(parts, git, lane, order).run(watch)

    def ended() -> None:
        parts.doorbell.tick(lane)

    keeper.gate(lane, run, Source(git, chain.rebuild, snapshot.tip, trial, ended))


def sweep(store: Store, workspaces: Workspaces, *, sandbox: Sandbox) -> None:
    """Remove what gates left on this host whose worker died; raises Unavailable."""
    running = [run for lane in store.lanes() for run in store.read(lane).runs]
    workspaces.sweep(running)
    try:
        sandbox.sweep()
    except SandboxFailed as error:
        raise Unavailable(str(error)) from error
