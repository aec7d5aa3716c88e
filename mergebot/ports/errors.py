"""How the world can fail, sorted once by each adapter.

`Unavailable`: nothing is known, try again later. `Refused`: it will not work this way, and the
sentence says why.
"""


class Unavailable(Exception):
    """The other side did not answer, or not clearly: nothing is known, try again later.

    `retry_after_s` is how long it asked to be left alone, 0 where it did not say.
    """

    def __init__(self, what: str, retry_after_s: float = 0.0) -> None:
        super().__init__(what)
        self.retry_after_s = retry_after_s


class Refused(Exception):
    """The other side understood and said no; the text is one sentence fit for a person."""


class Missing(Refused):
    """The thing asked for is not there, or may not be seen."""


class TurnedAway(Refused):
    """A pull request was asked for and not queued; its own comment says why, and what to do."""


class Barred(Refused):
    """The bot's own account may not do this at all, whoever the work is for."""
