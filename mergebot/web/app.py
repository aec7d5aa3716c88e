"""The web application, made of its parts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from mergebot.web import api, events, hands, health, hooks, login, pages
from mergebot.web.buckets import hook_buckets, login_buckets
from mergebot.web.parts import WebParts
from mergebot.web.problems import HANDLED, on_problem
from mergebot.web.security import SecurityHeaders

STATIC = Path(__file__).parent / "static"


def _icon(_: Request) -> FileResponse:
    """Answer browsers that ask for an icon before they know where it is."""
    return FileResponse(STATIC / "icon.svg", media_type="image/svg+xml")


def create_app(parts: WebParts) -> Starlette:
    """Return the application; it listens for changes while it is served."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.hub.start()
        yield
        app.state.hub.stop()

    routes = [
        Mount("/hooks", routes=[Route("/github", hooks.github, methods=["POST"])]),
        Route("/healthz", health.healthz),
        Route("/readyz", health.readyz),
        Route("/metrics", health.metrics),
        Route("/favicon.ico", _icon),
        Mount("/static", StaticFiles(directory=STATIC), name="static"),
        Route("/api/v1/events", events.of_all),
        Route("/api/v1" + api.REPO + "/events", events.of_lane),
        Mount("/api/v1", routes=api.ROUTES),
        *login.ROUTES,
        *hands.ROUTES,
        *pages.ROUTES,
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(SecurityHeaders)],
        exception_handlers=dict.fromkeys((*HANDLED, Exception), on_problem),
    )
    app.state.parts = parts
    app.state.rights = {}
    app.state.hook_buckets = hook_buckets()
    app.state.login_buckets = login_buckets()
    app.state.hub = events.Hub(parts.changes)
    app.state.started_at = parts.clock.now()
    return app
