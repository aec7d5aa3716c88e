"""Who people are: the part of the forge that a door needs."""

from typing import Protocol

from mergebot.domain.ids import Actor
from mergebot.ports.forge import Permission


class People(Protocol):
    """Vouches for people. Every method raises Unavailable or Refused; a Forge is one."""

    def me(self) -> Actor:
        """Return the bot's own account."""
        ...

    def caller(self, token: str) -> Actor:
        """Return whose forge token this is; raises Refused for an invalid one."""
        ...

    def permission(self, repo: str, actor: Actor) -> Permission:
        """Return what `actor` may do in a repository."""
        ...


class SignIn(Protocol):
    """The forge's own page on which somebody says who they are (OAuth's code flow)."""

    def address(self, state: str, back: str, *, verifier: str) -> str:
        """Return where to send somebody who shall come back to `back` with `state`.

        Only whoever knows `verifier` can make anything of the code that they come back with.
        """
        ...

    def token(self, code: str, back: str, *, verifier: str) -> str:
        """Return the forge token of whoever came back with `code`; raises Refused, Unavailable."""
        ...
