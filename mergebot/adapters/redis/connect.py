"""The connection to Redis, and what a Redis must be to hold a queue."""

import re
from typing import Any

from redis import Redis
from redis.backoff import ExponentialBackoff
from redis.exceptions import ResponseError
from redis.retry import Retry

from mergebot.adapters.redis.server import sorted_errors
from mergebot.ports.errors import Refused

SCHEMES = ("redis://", "rediss://", "unix://")
VERSION_MIN = (6, 2)

_ANSWER_S = 10.0
_CONNECT_S = 5.0
_HEALTH_CHECK_S = 15
_RETRIES = 2


def connect(url: str) -> Redis:
    """Return a client for `url`; nothing is sent yet. Raises Refused for an unusable URL.

    A command may be sent twice when its first answer was lost; every script knows its own repeat.
    """
    if not url.startswith(SCHEMES):
        raise Refused(f"The Redis URL must start with {', '.join(SCHEMES[:-1])} or {SCHEMES[-1]}.")
    options: dict[str, Any] = {
        "socket_timeout": _ANSWER_S,
        "health_check_interval": _HEALTH_CHECK_S,
        "retry": Retry(ExponentialBackoff(cap=1.0, base=0.05), _RETRIES),
    }
    if not url.startswith("unix://"):
        options |= {"socket_connect_timeout": _CONNECT_S, "socket_keepalive": True}
    try:
        return Redis.from_url(url, **options)
    except ValueError:
        # Its text may quote a part of the password.
        raise Refused(
            "The Redis URL cannot be read; it has the form redis://user:password@host:port/number."
        ) from None


def check_server(client: Redis) -> None:
    """Raise Refused, with what to change, where a Redis is too old or may evict keys."""
    asked: Any = client
    with sorted_errors():
        found = str(asked.info("server").get("redis_version", ""))
        policy = _eviction_policy(asked)
    version = tuple(int(part) for part in re.findall(r"\d+", found)[:2])
    if version < VERSION_MIN:
        raise Refused(
            f"Redis is version {found or 'unknown'}; mergebot needs {VERSION_MIN[0]}.{VERSION_MIN[1]}"
            " or newer."
        )
    if policy != "noeviction":
        raise Refused(
            f"Redis has maxmemory-policy {policy or 'unknown'}; set it to noeviction, or it deletes"
            " queued changes when memory runs short."
        )


def about_server(client: Redis) -> str:
    """Return the server's version, policy and memory in one line; raises Unavailable."""
    asked: Any = client
    with sorted_errors():
        server, memory = asked.info("server"), asked.info("memory")
        policy = _eviction_policy(asked)
    name = "Valkey" if "valkey_version" in server else "Redis"
    version = server.get("valkey_version") or server.get("redis_version", "unknown")
    used, most = memory.get("used_memory_human", "?"), int(memory.get("maxmemory", 0))
    limit = f" of {most // 2**20} MiB" if most else ", without a limit"
    return f"{name} {version}, {policy}, {used} used{limit}"


def _eviction_policy(client: Any) -> str:
    """Return the policy; many hosted servers refuse CONFIG, and INFO says it too."""
    try:
        return str(client.config_get("maxmemory-policy").get("maxmemory-policy", ""))
    except ResponseError:
        return str(client.info("memory").get("maxmemory_policy", ""))
