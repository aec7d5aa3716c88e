"""What the queue wants done in the world: data with a stable key; doing one twice changes nothing."""

from dataclasses import dataclass

from mergebot.domain.ids import Sha


@dataclass(frozen=True, slots=True)
class PublishNotice:
    """Bring the PR's comment and its check up to date with the candidate's state at that moment."""

    pr: int
    attempt: int

    @property
    def key(self) -> str:
        """Return what coalesces: only the newest state of a PR is ever written."""
        return f"notice:{self.pr}"


def told_mark(topic: str) -> str:
    """Return the hidden line by which the bot finds again that it spoke of `topic`."""
    return f"<!-- told: {topic} -->"


@dataclass(frozen=True, slots=True)
class Tell:
    """Write one plain comment about a request that made no candidate; once for its `topic`."""

    pr: int
    topic: str
    text: str

    @property
    def key(self) -> str:
        """Return the effect's identity."""
        return f"tell:{self.pr}:{self.topic}"


@dataclass(frozen=True, slots=True)
class RemoveLabel:
    """Take one label off one PR (never out of the repository)."""

    pr: int
    label: str

    @property
    def key(self) -> str:
        """Return the effect's identity."""
        return f"unlabel:{self.pr}:{self.label}"


@dataclass(frozen=True, slots=True)
class AddLabel:
    """Put one label on one PR, so that the label stays the durable record."""

    pr: int
    label: str

    @property
    def key(self) -> str:
        """Return the effect's identity."""
        return f"label:{self.pr}:{self.label}"


@dataclass(frozen=True, slots=True)
class KeepCandidate:
    """Keep the merged commit at refs/mergebot/candidate/<pr>, so that `repro` works."""

    pr: int
    merged: Sha

    @property
    def key(self) -> str:
        """Return the effect's identity."""
        return f"keep:{self.pr}"


@dataclass(frozen=True, slots=True)
class DropCandidate:
    """Remove refs/mergebot/candidate/<pr>."""

    pr: int

    @property
    def key(self) -> str:
        """Return the effect's identity; keeping and dropping one ref replace each other."""
        return f"keep:{self.pr}"


@dataclass(frozen=True, slots=True)
class ClosePull:
    """Close a PR that landed as other commits, where the forge cannot see that it did.

    Its branch is in a fork, or protected, so it may still stand at the head.
    """

    pr: int

    @property
    def key(self) -> str:
        """Return the effect's identity."""
        return f"close:{self.pr}"


@dataclass(frozen=True, slots=True)
class React:
    """Answer a comment with a reaction."""

    comment: int
    content: str

    @property
    def key(self) -> str:
        """Return the effect's identity: a comment has one answer."""
        return f"react:{self.comment}"


@dataclass(frozen=True, slots=True)
class EndClaim:
    """End the claim of a PR that landed; `receipt` names the evidence."""

    pr: int
    receipt: str

    @property
    def key(self) -> str:
        """Return the effect's identity."""
        return f"endclaim:{self.pr}"


@dataclass(frozen=True, slots=True)
class LookEarly:
    """Look at a PR that nobody has queued: what its block claims, and what is in its way."""

    pr: int

    @property
    def key(self) -> str:
        """Return what coalesces: however often a PR changed, it is looked at as it is."""
        return f"early:{self.pr}"


@dataclass(frozen=True, slots=True)
class LookAgain:
    """Look at what stands on a PR, where whoever was paused may have written over newer news."""

    pr: int

    @property
    def key(self) -> str:
        """Return the effect's identity."""
        return f"again:{self.pr}"


@dataclass(frozen=True, slots=True)
class KeepHalt:
    """Let git remember whether the lane is halted, and why."""

    @property
    def key(self) -> str:
        """Return what coalesces: only what the record says now is ever written."""
        return "halt"


Effect = (
    PublishNotice
    | Tell
    | RemoveLabel
    | AddLabel
    | KeepCandidate
    | DropCandidate
    | ClosePull
    | React
    | EndClaim
    | LookEarly
    | LookAgain
    | KeepHalt
)
