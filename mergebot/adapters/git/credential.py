"""The forge's token on its way to git: in a nameless file that only git's own processes inherit.

git reads it as an included configuration, so it stands in no argument, environment, URL or file
on disk, and it is sent with the first request instead of after a refused one.
"""

import base64
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from mergebot.ports.errors import Refused

USER = "x-access-token"

_HOST = re.compile(r"[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]")
_USERINFO = re.compile(r"://[^/@\s]*@")


@dataclass(frozen=True, slots=True)
class Credential:
    """A token for the one origin that it may be sent to; an empty one sends nothing."""

    origin: str
    token: str = field(repr=False)

    @property
    def _basic(self) -> str:
        return base64.b64encode(f"{USER}:{self.token}".encode()).decode()

    @contextmanager
    def offered(self) -> Iterator[int]:
        """Yield a file descriptor to be inherited, whose content is git configuration."""
        fd = os.memfd_create("git-config")
        try:
            if self.token:
                header = f"Authorization: Basic {self._basic}"
                os.write(fd, f'[http "{self.origin}/"]\n\textraHeader = "{header}"\n'.encode())
            yield fd
        finally:
            os.close(fd)

    def redact(self, text: str) -> str:
        """Return `text` without the token, in any form that git may repeat."""
        secrets = (self.token, quote(self.token, safe=""), self._basic) if self.token else ()
        for secret in secrets:
            text = text.replace(secret, "***")
        return _USERINFO.sub("://***@", text)


def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL, "" where it has no host; raises Refused."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise Refused(f"{url[:80]!r} is not an address that git can be given") from None
    host = parts.netloc.rpartition("@")[2]
    name = host if host.endswith("]") else re.sub(r":\d*$", "", host)
    if not host:
        return ""
    if not _HOST.fullmatch(name):
        raise Refused(f"{name[:80]!r} is not a host name that git can be given")
    return f"{parts.scheme}://{host}"
