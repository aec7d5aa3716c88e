"""What a webhook says, as values: hints that something happened, never the truth about it.

A delivery may be late, doubled, out of order or lost, so whoever reads news looks at the present
state before acting. The one fact that only news carries is the head at which a label was set.
`NOBODY` stands for an actor that the forge does not name.
"""

from dataclasses import dataclass

from mergebot.domain.ids import Actor, Sha

NOBODY = Actor(0, "ghost")


@dataclass(frozen=True, slots=True)
class PullFacts:
    """A pull request as it was when the webhook was written; `head_repo_id` is 0 once it is gone."""

    number: int
    head: Sha
    head_branch: str
    head_repo_id: int
    base: str
    author: Actor
    draft: bool
    closed: bool


@dataclass(frozen=True, slots=True)
class LabelSet:
    """`actor` set `label` on a pull request that stood at `pull.head` then."""

    repo: str
    repo_id: int
    pull: PullFacts
    label: str
    actor: Actor


@dataclass(frozen=True, slots=True)
class PullMoved:
    """Anything else happened to a pull request; `action` is the forge's word for it."""

    repo: str
    repo_id: int
    number: int
    head: Sha
    action: str
    sender: Actor


@dataclass(frozen=True, slots=True)
class CommentMade:
    """A new comment on a pull request; `at` is when it was written, 0.0 where nobody says."""

    repo: str
    repo_id: int
    number: int
    comment_id: int
    body: str
    author: Actor
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class TrunkPushed:
    """A branch moved to `after`; whether it is a trunk is for the reader to say."""

    repo: str
    repo_id: int
    branch: str
    after: Sha
    sender: Actor


@dataclass(frozen=True, slots=True)
class ReviewGiven:
    """A review was submitted, edited or dismissed."""

    repo: str
    repo_id: int
    number: int
    action: str
    sender: Actor


@dataclass(frozen=True, slots=True)
class CheckNews:
    """A check or status called `name` changed on the commit `sha`."""

    repo: str
    repo_id: int
    sha: Sha
    name: str
    sender: Actor


@dataclass(frozen=True, slots=True)
class RepositoryChanged:
    """A repository was renamed, moved, archived or deleted; `full_name` is its name now."""

    repo_id: int
    full_name: str
    action: str


@dataclass(frozen=True, slots=True)
class CheckAsked:
    """Somebody pressed a button on the bot's own check: `wish` is rerun or cancel.

    They saw the check of `attempt` on the commit `head`.
    """

    repo: str
    repo_id: int
    number: int
    wish: str
    actor: Actor
    head: Sha
    attempt: int


@dataclass(frozen=True, slots=True)
class InstallationChanged:
    """The bot's App reaches the repositories `gained` now, and those with the ids `lost` no more."""

    gained: tuple[str, ...]
    lost: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ignored:
    """Nothing to do; `reason` is for the log."""

    reason: str


News = (
    LabelSet
    | PullMoved
    | CommentMade
    | TrunkPushed
    | ReviewGiven
    | CheckNews
    | RepositoryChanged
    | CheckAsked
    | InstallationChanged
    | Ignored
)
