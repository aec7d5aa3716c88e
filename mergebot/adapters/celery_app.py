"""The Celery application, as both ends need it: who rings, and the workers that answer.

Celery is a doorbell and a pool of hands. Messages carry ids; they may be lost, doubled or
reordered without harm, so nothing here tries to make delivery certain. Whoever touches a setting
should know what it prevents, which is why each has its reason beside it.
"""

from typing import Any

from celery import Celery
from kombu import Queue

GATE, LANE, IO = "gate", "lane", "io"
"""The queues: gate runs; decisions about lanes; deliveries to read and comments to write."""

TICK = "mergebot.tick"
RUN_GATE = "mergebot.gate"
PUBLISH = "mergebot.publish"
INTAKE = "mergebot.intake"

SOFT_LIMIT_S = 120
HARD_LIMIT_S = 180
"""Of every task but the gate, whose own supervisor enforces time."""

_TRANSPORT: dict[str, Any] = {
    # The broker shares a Redis with the record, under names of its own.
    "global_keyprefix": "mb:broker:",
    # Five times the hard limit, so that no message is delivered again while it is worked on.
    "visibility_timeout": 5 * HARD_LIMIT_S,
    # Without them a publish or a read on a half-open connection hangs for ever.
    "socket_timeout": 10,
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
    "health_check_interval": 15,
    "retry_on_timeout": True,
    # Messages of a worker that died are looked for every 10 s, not every 100 s.
    "unacked_restore_interval": 10,
    "unacked_restore_throttle": 1,
}

_SETTINGS: dict[str, Any] = {
    # Pickle would run the code of whoever can write to Redis.
    "task_serializer": "json",
    "result_serializer": "json",
    "accept_content": ["json"],
    # Nobody reads results; kept ones only grow.
    "result_backend": None,
    "task_ignore_result": True,
    # Early acknowledgement: a late one buys duplicates in parallel and still loses messages.
    "task_acks_late": False,
    "task_acks_on_failure": True,
    "task_acks_on_timeout": True,
    # The reconciler owns every retry; a broker that retries loops without limit.
    "task_reject_on_worker_lost": False,
    "task_retry_on_worker_lost": False,
    # A message stays in Redis until a process is free for it.
    "worker_prefetch_multiplier": 1,
    "worker_disable_prefetch": True,
    # Remote control lets anybody who reaches the broker stop or reconfigure workers.
    "worker_enable_remote_control": False,
    "worker_send_task_events": False,
    # A misspelt queue fails loudly instead of filling a queue that nobody reads.
    "task_create_missing_queues": False,
    "task_queues": [Queue(GATE), Queue(LANE), Queue(IO)],
    "task_default_queue": IO,
    "task_routes": {
        RUN_GATE: {"queue": GATE},
        TICK: {"queue": LANE},
        PUBLISH: {"queue": IO},
        INTAKE: {"queue": IO},
    },
    # All three places count, and the shortest of all applications on one broker wins.
    "visibility_timeout": 5 * HARD_LIMIT_S,
    "result_backend_transport_options": {"visibility_timeout": 5 * HARD_LIMIT_S},
    # A long outage of Redis must not end in a dead worker.
    "broker_connection_retry_on_startup": True,
    "broker_connection_max_retries": None,
    # A landing push is never cut because the broker went away; leases and refs cover the rest.
    "worker_cancel_long_running_tasks_on_connection_loss": False,
    # Nothing is scheduled for later through the broker; a worker that held such tasks loses them.
    "worker_eta_task_limit": 100,
    # Memory that libraries leak is given back now and then.
    "worker_max_tasks_per_child": 1000,
    # Our logging, with its redactor, stays installed.
    "worker_hijack_root_logger": False,
    "worker_redirect_stdouts": False,
    "enable_utc": True,
    "timezone": "UTC",
}


def make_app(redis_url: str) -> Celery:
    """Return the application on this Redis; nothing is sent yet."""
    app = Celery("mergebot", set_as_current=False, autofinalize=True)
    # On a unix socket there is no keepalive and no connecting that could hang.
    network_only = {"socket_keepalive", "socket_connect_timeout"}
    left_out = network_only if redis_url.startswith("unix://") else set()
    transport = {name: value for name, value in _TRANSPORT.items() if name not in left_out}
    app.conf.update(_SETTINGS, broker_url=broker_url(redis_url), broker_transport_options=transport)
    return app


def broker_url(redis_url: str) -> str:
    """Return the address of the same Redis in the words of Celery."""
    if redis_url.startswith("unix://"):
        return "redis+socket://" + redis_url.removeprefix("unix://")
    return redis_url
