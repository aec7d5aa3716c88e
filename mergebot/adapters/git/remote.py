"""The remote behind a mirror: what git says about it, sorted into the ports' errors."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import stamina

from mergebot.adapters.git.command import GitDir, argv, environment, one_line
from mergebot.adapters.git.credential import Credential, origin_of
from mergebot.adapters.git.process import Answer, Job, Limits, perform
from mergebot.domain.ids import Sha, parse_sha
from mergebot.ports.errors import Missing, Refused, Unavailable

ASK = Limits(30.0)
FETCH = Limits(900.0)
FORK_PUSH = Limits(10.0)
PUSH = Limits(50.0)
"""Less than a lane's lease: a push that hangs is read back by the holder that began it."""

_TRIES = 3
_TRY_AGAIN_WITHIN_S = 10.0

_OPTIONS = (
    "protocol.version=2",
    # A redirect to another host would take the header with the token along.
    "http.followRedirects=false",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=45",
)
_NO_REF = re.compile(r"couldn't find remote ref", re.IGNORECASE)
_BROKEN = re.compile(r"^(?:remote: )?error: (object [0-9a-f]{40,64}: .*)$", re.MULTILINE)
_DENIED = re.compile(
    r"authentication failed|could not read (?:username|password)|returned error: 40[13]\b"
    r"|permission to \S+ denied|access denied|HTTP 40[13]\b",
    re.IGNORECASE,
)
_ABSENT = re.compile(
    r"repository '?\S*'? ?not found|returned error: 404|does not appear to be a git repository"
    r"|repository .* does not exist",
    re.IGNORECASE,
)
_MOVED = re.compile(r"returned error: 30[1278]", re.IGNORECASE)
_FORBIDDEN = re.compile(r"transport '\S*' not allowed", re.IGNORECASE)


class RefGone(Missing):
    """A ref that was asked for is not on the remote."""


class Malformed(Refused):
    """The remote sent an object that git takes for damaged or for an attack."""


@dataclass(frozen=True, slots=True)
class Remote:
    """A repository on the forge, spoken to through one local git directory."""

    git: GitDir
    url: str
    token: Callable[[], str]
    protocols: tuple[str, ...]

    def ask(self, *arguments: str, stdin: bytes = b"", limits: Limits = ASK) -> Answer:
        """Run one git command that talks to the remote; its complaints come back redacted."""
        credential = self._credential()
        allowed = tuple(f"protocol.{name}.allow=always" for name in self.protocols)
        with credential.offered() as fd:
            options = (*_OPTIONS, *allowed, f"include.path=/proc/self/fd/{fd:d}")
            line = argv(self.git.path, options, arguments)
            job = Job(line, environment(), stdin=stdin, limits=limits, pass_fds=(fd,))
            answer = perform(job)
        return Answer(answer.code, answer.out, credential.redact(answer.err), answer.cut)

    def read(self, *arguments: str, stdin: bytes = b"", limits: Limits = ASK) -> Answer:
        """Run a command that changes nothing there, again after a passing failure; raises."""
        for attempt in stamina.retry_context(
            on=Unavailable, attempts=_TRIES, timeout=_TRY_AGAIN_WITHIN_S, wait_max=1.0
        ):
            with attempt:
                answer = self.ask(*arguments, stdin=stdin, limits=limits)
                if answer.code:
                    raise failure(answer)
                return answer
        raise Unavailable("the forge was not asked")

    def beside(self, url: str) -> "Remote":
        """Return another repository of the same host, spoken to from the same directory.

        The token is good there alone, so any other address is Refused.
        """
        if origin_of(url) != origin_of(self.url):
            raise Refused("The fork lies on another host than the repository")
        return replace(self, url=url)

    def refs(self, *names: str) -> Mapping[str, Sha]:
        """Return those of the full ref names that exist on the remote, with what they name."""
        listing = self.read("ls-remote", "--end-of-options", self.url, *names)
        rows = (line.partition("\t") for line in listing.lines)
        return {name: parse_sha(sha) for sha, _, name in rows if name in names}

    def branches(self) -> Mapping[str, Sha]:
        """Return every branch on the remote with its tip."""
        listing = self.read("ls-remote", "--heads", "--end-of-options", self.url)
        rows = (line.partition("\t") for line in listing.lines)
        return {name.removeprefix("refs/heads/"): parse_sha(sha) for sha, _, name in rows}

    def _credential(self) -> Credential:
        if self.url.partition("://")[0].lower() not in ("http", "https"):
            return Credential("", "")
        return Credential(origin_of(self.url), self.token())


def failure(answer: Answer) -> Unavailable | Refused:
    """Sort what git said about a remote: a clear no is Refused, anything else Unavailable."""
    said, line = answer.err, one_line(answer.err)
    if _NO_REF.search(said):
        return RefGone(f"The remote does not have what was asked for: {line}")
    if broken := _BROKEN.search(said):
        return Malformed(f"git refuses what was pushed there: {one_line(broken[1])}")
    if _DENIED.search(said):
        return Refused(f"The forge refused the bot's credential: {line}")
    if _ABSENT.search(said):
        return Missing(f"The repository is not there, or the bot may not see it: {line}")
    if _MOVED.search(said):
        return Refused("The repository's git address redirects elsewhere; use its new name")
    if "does not support --atomic" in said:
        return Refused("The forge's git takes no atomic pushes, so nothing can land safely there")
    if _FORBIDDEN.search(said):
        return Refused(f"The repository's git address is of a kind that is not allowed: {line}")
    return Unavailable(f"The forge did not answer git clearly: {line}")
