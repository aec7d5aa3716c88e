"""Serving the web door: its parts from the wiring, uvicorn around it."""

from functools import partial

import uvicorn

from mergebot.adapters.processes import in_a_process, in_a_thread
from mergebot.adapters.pulse import HANDS
from mergebot.services.claim_desk import ClaimDesk
from mergebot.services.hindsight import Aside
from mergebot.settings import Settings, admin_token
from mergebot.web.app import create_app
from mergebot.web.parts import WebParts, WebSettings
from mergebot.wiring.desk import forge_pages, reception, start_logging

GRACE_S = 3
"""How long open answers, such as live pages, may take to end."""


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT."""
    start_logging(settings)
    uvicorn.run(
        create_app(web_parts(settings)),
        host=settings.host,
        port=settings.port,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
    )


def web_parts(settings: Settings) -> WebParts:
    """Return what the pages, the API and the receiver work with."""
    made = reception(settings)
    parts = made.desk.parts
    return WebParts(
        store=parts.store,
        runs=parts.runs,
        logs=parts.logs,
        inbox=parts.inbox,
        doorbell=parts.doorbell,
        clock=parts.clock,
        forge=parts.forge,
        operator=made.operator,
        claims=ClaimDesk(parts),
        pages=made.pages,
        changes=made.changes,
        verify=made.verify,
        private=made.private,
        seals=parts.notary,
        sign_in=made.sign_in,
        reconciled_at=made.desk.pulse.last,
        aside=Aside(in_a_thread, in_a_process),
        answered_at=partial(made.desk.pulse.last, HANDS),
        settings=WebSettings(
            public_url=settings.pages,
            forge_url=forge_pages(settings.github_url),
            admin_token=admin_token(settings),
            reconcile_s=settings.reconcile_seconds,
        ),
    )
