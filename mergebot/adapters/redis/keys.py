"""The names of everything in Redis; all of a lane's keys share one hash tag."""

import hashlib
from dataclasses import dataclass

from mergebot.domain.ids import Lane

LANES = "mb:lanes"
WORKERS = "mb:workers"
EVENTS = "mb:events"
INBOX = "mb:{inbox}:stream"
BEGUN = "mb:{inbox}:begun"
ASIDE = "mb:{inbox}:aside"


def digest(text: str) -> str:
    """Return a name of fixed length for text that somebody else chose."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def seen(guid: str) -> str:
    """Name the mark of a delivery that was kept."""
    return f"mb:{{inbox}}:seen:{digest(guid)}"


def pace_key(account: str) -> str:
    """Name the last minute's writes of an account of the forge."""
    return f"mb:{{pace}}:{digest(account)}"


@dataclass(frozen=True, slots=True)
class LeaseKeys:
    """The keys of one leased resource; the generation outlives every holder."""

    resource: str

    @property
    def holder(self) -> str:
        """Name the hash that exists while somebody holds the resource."""
        return f"mb:{{lease:{self.resource}}}:holder"

    @property
    def generation(self) -> str:
        """Name the counter of holders."""
        return f"mb:{{lease:{self.resource}}}:generation"


@dataclass(frozen=True, slots=True)
class LaneKeys:
    """The keys of one lane."""

    lane: Lane

    def __call__(self, name: str) -> str:
        """Name one of the lane's records: state, open, ended, order, newest, effects, due, ..."""
        return f"mb:{{{self.lane.key}}}:{name}"

    def story(self, pr: int) -> str:
        """Name the list of what happened to a PR."""
        return self(f"story:{pr}")

    def run(self, run: str) -> str:
        """Name the hash of a gate run."""
        return self(f"run:{run}")

    def log(self, run: str) -> tuple[str, str, str]:
        """Name the start of a run's output, its end, and the hash that counts what was cut."""
        return self(f"log:{run}:head"), self(f"log:{run}:tail"), self(f"log:{run}:meta")

    def asks(self, cores: str) -> str:
        """Name the list of what gates asked for of the cores with this key."""
        return self(f"asks:{cores}")

    def kept(self, name: str) -> str:
        """Name a green result."""
        return self(f"kept:{name}")

    def topic(self, topic: str) -> str:
        """Name the mark that a topic was told."""
        return self(f"once:{digest(topic)}")

    def begun(self, work: str) -> str:
        """Name the counter of a piece of work that began and did not end."""
        return self(f"begun:{digest(work)}")
