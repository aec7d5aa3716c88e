"""What a person or agent may do to the queue by hand, through whichever door."""

from typing import Protocol

from mergebot.domain.ids import Actor, Lane, Sha


class Operator(Protocol):
    """Does by hand what labels and commands do.

    `by` is who asks; the door has made sure that they may. Every method raises Refused with one
    sentence, or Unavailable. Asking for what is so already changes nothing and is no error.
    """

    def enqueue(self, lane: Lane, pr: int, by: Actor, *, seen: Sha | None = None) -> None:
        """Queue a PR at its present head, by setting its label; refused where it ends at once.

        Refused also where its head is not the one `seen`.
        """
        ...

    def cancel(self, lane: Lane, pr: int, by: Actor) -> None:
        """Take a PR out of the queue, by removing its label."""
        ...

    def retry(
        self, lane: Lane, pr: int, by: Actor, reason: str, *, seen: Sha | None = None
    ) -> None:
        """Open the next attempt at the same head; `reason` says why it may end otherwise.

        Refused where the head is not the one `seen`.
        """
        ...

    def hold(self, lane: Lane, pr: int, by: Actor) -> None:
        """Park a PR at its place, by setting the label that holds."""
        ...

    def unhold(self, lane: Lane, pr: int, by: Actor) -> None:
        """Let a held PR go on, by removing that label."""
        ...

    def halt(self, lane: Lane, by: Actor, reason: str) -> None:
        """Let nothing land until somebody resumes."""
        ...

    def resume(self, lane: Lane, by: Actor, reason: str) -> None:
        """End a halt that a person or an odd trunk made."""
        ...
