"""What a task names: a ticket of this repository (`#12`, or its address), or anything else."""

import re

_NUMBER = re.compile(r"#([1-9][0-9]{0,8})")
_ADDRESS = re.compile(r"https?://[^/\s]+/(?P<repo>[^/\s]+/[^/\s]+)/issues/(?P<n>[1-9][0-9]{0,8})/?")


def ticket_of(task: str, repo: str) -> int | None:
    """Return the number of the issue that a task is, None where it is no issue of `repo`."""
    text = task.strip()
    short = _NUMBER.fullmatch(text)
    if short:
        return int(short[1])
    address = _ADDRESS.fullmatch(text)
    if address and address["repo"].casefold() == repo.casefold():
        return int(address["n"])
    return None


def task_key(task: str, repo: str) -> str:
    """Return what two spellings of one task have in common."""
    ticket = ticket_of(task, repo)
    return f"#{ticket}" if ticket else " ".join(task.casefold().split())
