"""The commits that mergebot itself writes: fixed committer, pinned dates, clean messages."""

import re
from collections.abc import Sequence

from mergebot.adapters.git.committer import UNSIGNED, Committer
from mergebot.adapters.git.objects import Commit, person
from mergebot.domain.commit_text import commit_body, inert
from mergebot.domain.ids import Sha
from mergebot.ports.git import ReplayRequest

_TRAILER = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*: \S.*")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_OWN_NUMBER = re.compile(r" \(#[0-9]+\)\Z")
_UNSAFE = re.compile(r"[\x00-\x1f\x7f<>]")


def made_by(by: Committer, head: Commit) -> bytes:
    """Return the committer of everything that `head` becomes: the same on every host."""
    return by.at(person(head, head.committer).when)


def rebased(commit: Commit, *, tree: str, parent: Sha, committer: bytes) -> Commit:
    """Return `commit` on another parent, its author, dates and message bytes kept."""
    return Commit(
        id=commit.id,
        tree=tree,
        parents=(parent,),
        author=commit.author,
        committer=committer,
        encoding=commit.encoding,
        message=commit.message,
    )


def stand_in(*, tree: str, parent: Sha) -> Commit:
    """Return a commit of `tree` beside a change's parent, so that merging it picks the change."""
    who = UNSIGNED.at(b"0 +0000")
    return Commit(parent, tree, (parent,), who, who, b"", b"")


def joined(request: ReplayRequest, *, tree: str, head: Commit, committer: bytes) -> Commit:
    """Return the merge commit of base and head."""
    message = _message(request.subject, request.body, ())
    parents = (request.base, request.head)
    return Commit(head.id, tree, parents, committer, committer, b"", message)


def squashed(
    request: ReplayRequest, *, tree: str, commits: Sequence[Commit], committer: bytes
) -> Commit:
    """Return the one commit that stands for `commits`, the last of which is the head."""
    head = commits[-1]
    who = person(head, head.author)
    author = f"{_plain(who.name)} <{_plain(who.email)}> ".encode() + who.when
    others = co_authors(commits, beside=request.body)
    message = _message(request.subject, request.body, others)
    return Commit(head.id, tree, (request.base,), author, committer, b"", message)


def co_authors(commits: Sequence[Commit], *, beside: str) -> Sequence[str]:
    """Return trailers for the authors other than the head's, once each and not if named already."""
    head = commits[-1]
    named = beside.casefold()
    seen = {person(head, head.author).email.casefold()}
    trailers = []
    for commit in commits:
        who = person(commit, commit.author)
        name, email = _plain(who.name), _plain(who.email)
        if commit.merges or not email or who.email.casefold() in seen:
            continue
        seen.add(who.email.casefold())
        if f"co-authored-by: {name} <{email}>".casefold() not in named:
            trailers.append(f"Co-authored-by: {name} <{email}>")
    return trailers


def _message(subject: str, body: str, trailers: Sequence[str]) -> bytes:
    first = _first_line(subject)
    text = _CONTROL.sub("", commit_body(body))
    parts = [first, *([text] if text else [])]
    if trailers:
        block = "\n".join(trailers)
        last = text.rpartition("\n\n")[2] if text else ""
        if last and all(_TRAILER.fullmatch(line) for line in last.split("\n")):
            parts[-1] = f"{text}\n{block}"
        else:
            parts.append(block)
    return ("\n\n".join(parts) + "\n").encode("utf-8", "replace")


def _first_line(subject: str) -> str:
    """Return the subject with its title disarmed; the pull request's own number stays a link."""
    line = " ".join(_CONTROL.sub(" ", subject).split())
    own = _OWN_NUMBER.search(line)
    return inert(line[: own.start()]) + own[0] if own else inert(line)


def _plain(text: str) -> str:
    return _UNSAFE.sub("", text).strip()
