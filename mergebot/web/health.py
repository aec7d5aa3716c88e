"""Health for machines: alive means that something moves, ready means that the record can be read."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from http import HTTPStatus

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mergebot.domain.ids import Lane
from mergebot.domain.limits import IDLE_ALARM_S, WORKER_SILENT_S
from mergebot.domain.views import counts_view, halted_view, trunk_view
from mergebot.domain.wording import duration
from mergebot.ports.errors import Refused, Unavailable
from mergebot.web.auth import visible_lanes
from mergebot.web.parts import WebParts

MISSED_ROUNDS = 4
"""A reconciler that missed this many rounds is not alive."""


def healthz(request: Request) -> Response:
    """Answer 200 while the queues move and the reconciler goes round, else 503 and why."""
    parts: WebParts = request.app.state.parts
    try:
        since = request.app.state.started_at
        waiting = _waiting(parts)
        troubles = [*_reconciler(parts, since), *_workers(parts, since), *_lanes(parts)]
    except Unavailable as error:
        troubles, waiting = [str(error)], {}
    status = HTTPStatus.SERVICE_UNAVAILABLE if troubles else HTTPStatus.OK
    body: dict[str, object] = {"status": "stuck" if troubles else "ok", "troubles": troubles}
    body["waiting"] = waiting
    return JSONResponse(body, status_code=status)


def _waiting(parts: WebParts) -> dict[str, str]:
    """Return why public lanes wait; no restart of ours would help them, so that is no trouble."""
    found = {}
    for lane in parts.store.lanes():
        with suppress(Refused):
            why = parts.store.read(lane).state.waiting
            if why and not parts.private(lane):
                found[lane.repo] = why
    return found


def _reconciler(parts: WebParts, started_at: float) -> Iterator[str]:
    last = parts.reconciled_at()
    age_s = parts.clock.now() - (started_at if last is None else last)
    if age_s > parts.settings.reconcile_s * MISSED_ROUNDS:
        yield f"the reconciler was last heard of {duration(age_s)} ago"


def _workers(parts: WebParts, started_at: float) -> Iterator[str]:
    now = parts.clock.now()
    if parts.answered_at is not None:
        last = parts.answered_at()
        age_s = now - (started_at if last is None else last)
        if age_s > parts.settings.reconcile_s * MISSED_ROUNDS:
            yield f"no worker answered the reconciler's rings for {duration(age_s)}"
    waiting = any(parts.store.read(lane).candidates for lane in parts.store.lanes())
    if waiting and now - started_at > WORKER_SILENT_S and not parts.runs.workers(now):
        yield "changes wait and no worker that runs gates is there"


def _lanes(parts: WebParts) -> Iterator[str]:
    for lane in parts.store.lanes():
        try:
            found = parts.reporting.health(lane)
        except Refused as error:
            yield f"the record of {_name(parts, lane)} cannot be read: {error}"
            continue
        idle = found["idle_s"]
        if isinstance(idle, int) and idle > IDLE_ALARM_S:
            name = _name(parts, lane)
            yield f"the queue of {name} could move and did not for {duration(idle)}"


def _name(parts: WebParts, lane: Lane) -> str:
    return "a private repository" if parts.private(lane) else lane.repo


def readyz(request: Request) -> Response:
    """Answer 200 while the record can be read."""
    parts: WebParts = request.app.state.parts
    try:
        lanes = len(parts.store.lanes())
    except Unavailable as error:
        body = {"status": "not ready", "error": str(error)}
        return JSONResponse(body, status_code=HTTPStatus.SERVICE_UNAVAILABLE)
    return JSONResponse({"status": "ready", "lanes": lanes})


def metrics(request: Request) -> Response:
    """Answer Prometheus' scrape with what the record says of the repositories that it may see."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(RecordCollector(request.app.state.parts, visible_lanes(request)))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


class RecordCollector(Collector):
    """Reads the record when it is scraped, so that every web process gives the same numbers."""

    def __init__(self, parts: WebParts, lanes: Sequence[Lane]) -> None:
        self._parts = parts
        self._shown = lanes

    def describe(self) -> Iterator[Metric]:
        """Describe nothing ahead: names come with the values."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        parts = self._parts
        now = parts.clock.now()
        last = parts.reconciled_at()
        yield _gauge("mergebot_workers", "Gate slots heard of lately.", parts.runs.workers(now))
        yield _gauge("mergebot_inbox_depth", "Deliveries that wait.", parts.inbox.depth())
        text = "Deliveries that nobody could handle."
        yield _gauge("mergebot_inbox_set_aside", text, parts.inbox.aside())
        if last is not None:
            text = "Seconds since the reconciler went round."
            yield _gauge("mergebot_reconciler_age_seconds", text, now - last)
        yield from self._lanes()

    def _lanes(self) -> Iterator[Metric]:
        entries = GaugeMetricFamily("mergebot_queue_entries", "Open candidates.", labels=_BY_STATE)
        green = GaugeMetricFamily("mergebot_trunk_green", "1 green, 0 not.", labels=["repo"])
        halted = GaugeMetricFamily("mergebot_halted", "1 while halted.", labels=["repo"])
        idle = GaugeMetricFamily("mergebot_idle_seconds", "Could move, did not.", labels=["repo"])
        lagging = GaugeMetricFamily("mergebot_effects_lagging", "Failed writes.", labels=["repo"])
        text = "Proposals of the planner that its checker refused."
        refused = CounterMetricFamily("mergebot_proposals_refused", text, labels=_BY_REASON)
        for lane in self._shown:
            self._lane(lane, entries=entries, flags=(green, halted), waits=(idle, lagging))
            for reason, count in self._parts.store.read(lane).state.refusals.counts.items():
                refused.add_metric([lane.repo, reason], count)
        yield from (entries, green, halted, idle, lagging, refused)

    def _lane(
        self,
        lane: Lane,
        *,
        entries: GaugeMetricFamily,
        flags: tuple[GaugeMetricFamily, GaugeMetricFamily],
        waits: tuple[GaugeMetricFamily, GaugeMetricFamily],
    ) -> None:
        snapshot = self._parts.store.read(lane)
        for state, count in counts_view(snapshot.candidates).items():
            if state != "open":
                entries.add_metric([lane.repo, state], count)
        flags[0].add_metric([lane.repo], float(trunk_view(snapshot)["health"] == "green"))
        flags[1].add_metric([lane.repo], float(halted_view(snapshot) is not None))
        found = self._parts.reporting.health(lane)
        waits[0].add_metric([lane.repo], float(str(found["idle_s"])))
        waits[1].add_metric([lane.repo], len(self._parts.store.lagging(lane)))


_BY_STATE = ["repo", "state"]
_BY_REASON = ["repo", "reason"]


def _gauge(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(name, text, value=value)
