"""How the forge can fail, sorted once into the port's words, each as one sentence for a person.

`Unavailable` says that nothing is known: no answer, a rate limit, trouble on its side. `Refused`
and `Missing` are its own no. What matters beyond the port: whether a write may have happened
(`Unclear`), and whether our token is the trouble (`BadToken`).
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from requests.exceptions import ConnectionError as NotConnected
from requests.exceptions import ConnectTimeout, SSLError, Timeout
from urllib3.exceptions import MaxRetryError, NewConnectionError, ReadTimeoutError

from mergebot.ports.errors import Missing, Refused, Unavailable

SECONDARY_WAIT_S = 60.0
"""GitHub asks for a minute where it limits without saying for how long."""

WAIT_S_MAX = 3600.0
"""The primary limit is renewed every hour; a longer wait is a mistake of some clock."""

_MESSAGE_CHARS_MAX = 400
_READS = {"GET", "HEAD"}
_LIMITED = ("api rate limit exceeded", "secondary rate limit", "please wait a few minutes")
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


class Unclear(Unavailable):
    """The answer to a write was lost, so it may have happened."""


class BadToken(Unavailable):
    """The forge does not accept the token; nothing works until it is replaced."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request: `aim` completes "could not ...", `repo` says on whose behalf ("": anyone's)."""

    verb: str
    path: str
    aim: str
    repo: str = ""
    query: Mapping[str, str | int] = field(default_factory=dict)
    body: Any = None

    @property
    def writes(self) -> bool:
        """Tell whether the request may change something."""
        return self.verb not in _READS


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; header names are in lower case."""

    status: int
    headers: dict[str, str]
    text: str


def trouble_in(ask: Ask, answer: Answer) -> Unavailable | Refused | None:
    """Return what is wrong with an answer, or None when it is good."""
    status = answer.status
    if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        return None
    text = sentence(ask, _message(answer))
    wait_s = _asked_to_wait_s(answer)
    if wait_s is not None:
        return Unavailable(text, wait_s)
    if status < HTTPStatus.BAD_REQUEST:
        return Unavailable(sentence(ask, "the forge sent us elsewhere; was it renamed or moved?"))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.REQUEST_TIMEOUT:
        kind = Unclear if ask.writes else Unavailable
        return kind(text, _retry_after_s(answer) or 0.0)
    if status == HTTPStatus.UNAUTHORIZED:
        return BadToken(text)
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
        return Missing(text)
    return Refused(text)


def wait_after_s(answer: Answer) -> float:
    """Return for how long nothing more may be asked after this answer, 0 for not at all.

    A good answer may be the last one of the hour.
    """
    limited_s = _asked_to_wait_s(answer)
    if limited_s is not None:
        return limited_s
    return _until_reset_s(answer) if answer.headers.get("x-ratelimit-remaining") == "0" else 0.0


def trouble_from(ask: Ask, error: Exception) -> Unavailable | Refused:
    """Return what an exception from below means: nothing came back, or nothing readable."""
    if _never_sent(error):
        return Unavailable(sentence(ask, "the forge is not reachable"))
    if isinstance(error, SSLError):
        return Unavailable(sentence(ask, "the forge's certificate is not trusted"))
    if isinstance(error, RuntimeError):
        return Refused(
            sentence(ask, "the forge sends us to another host; check MERGEBOT_GITHUB_URL")
        )
    slow = isinstance(error, Timeout) or isinstance(_reason(error), ReadTimeoutError)
    text = "the forge did not answer in time" if slow else "the connection to the forge broke"
    return (Unclear if ask.writes else Unavailable)(sentence(ask, text))


def odd_answer(ask: Ask) -> Unavailable:
    """Return what a good status with an unreadable body means; a write is not undone by it."""
    kind = Unclear if ask.writes else Unavailable
    return kind(sentence(ask, "the forge's answer is not what its API describes"))


def sentence(ask: Ask, why: str) -> str:
    """Return one clean sentence: no control characters, no line ends, not endless."""
    why = _BLANK.sub(" ", why).strip()
    if len(why) > _MESSAGE_CHARS_MAX:
        why = f"{why[:_MESSAGE_CHARS_MAX]}…"
    return f"could not {ask.aim}: {why.rstrip('.')}."


def _never_sent(error: Exception) -> bool:
    if isinstance(error, ConnectTimeout):
        return True
    return isinstance(_reason(error), NewConnectionError)


def _reason(error: Exception) -> Exception | None:
    """Return why urllib3 gave up, from inside what requests made of it."""
    inner = error.args[0] if isinstance(error, NotConnected) and error.args else None
    return inner.reason if isinstance(inner, MaxRetryError) else None


def _message(answer: Answer) -> str:
    try:
        document = json.loads(answer.text)
    except ValueError:
        document = None
    said = document.get("message") if isinstance(document, dict) else None
    if not isinstance(said, str) or not said:
        return _phrase(answer.status)
    errors = document.get("errors") if isinstance(document, dict) else None
    details = [_detail(each) for each in errors] if isinstance(errors, list) else []
    return "; ".join([said.rstrip("."), *filter(None, details)])


def _detail(error: object) -> str:
    if isinstance(error, str):
        return error
    if not isinstance(error, dict):
        return ""
    named = [error.get(key) for key in ("resource", "field", "code")]
    text = error.get("message") or " ".join(word for word in named if isinstance(word, str))
    return text if isinstance(text, str) else ""


def _phrase(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"status {status}"


def _asked_to_wait_s(answer: Answer) -> float | None:
    """Return how long a rate limit asks us to wait, or None when this is no rate limit."""
    if answer.status not in {HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS}:
        return None
    after = _retry_after_s(answer)
    if after is not None:
        return after
    if answer.headers.get("x-ratelimit-remaining") == "0":
        return _until_reset_s(answer)
    limited = any(words in answer.text.lower() for words in _LIMITED)
    if limited or answer.status == HTTPStatus.TOO_MANY_REQUESTS:
        return SECONDARY_WAIT_S
    return None


def _retry_after_s(answer: Answer) -> float | None:
    text = answer.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text), WAIT_S_MAX)
    return _between_s(_date(answer.headers.get("date")), _date(text))


def _until_reset_s(answer: Answer) -> float:
    reset = answer.headers.get("x-ratelimit-reset", "")
    until = float(reset) if reset.isascii() and reset.isdigit() else None
    wait_s = _between_s(_date(answer.headers.get("date")), until)
    return SECONDARY_WAIT_S if wait_s is None else wait_s + 1.0


def _between_s(start: float | None, end: float | None) -> float | None:
    """Return the seconds between two readings of the forge's own clock, never of ours."""
    if start is None or end is None:
        return None
    return min(max(end - start, 0.0), WAIT_S_MAX)


def _date(text: str | None) -> float | None:
    try:
        moment = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
