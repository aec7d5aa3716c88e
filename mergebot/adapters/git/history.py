"""A clone's past: its first-parent line and the receipts in its notes, read without any network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mergebot.adapters.git.checkout import Checkout
from mergebot.adapters.git.notes import read_receipts
from mergebot.adapters.git.process import Limits
from mergebot.adapters.git.refs import NOTES
from mergebot.domain.ids import Sha, parse_sha
from mergebot.domain.proving import Link
from mergebot.domain.receipts import Receipt
from mergebot.ports.errors import Refused

_LINE = Limits(120.0, 512 * 1024 * 1024)


@dataclass(frozen=True, slots=True)
class CloneHistory:
    """Implements the port History on a checkout or a bare clone."""

    checkout: Checkout

    def commit(self, name: str) -> Sha:
        """Return the commit that a person calls `name`."""
        return self.checkout.commit(name)

    def line(self, tip: Sha) -> Sequence[Link]:
        """Return the first-parent line that ends at `tip`, oldest first."""
        directory = self.checkout.directory
        if directory.ask("rev-parse", "--is-shallow-repository").text.strip() == "true":
            raise Refused("This clone is shallow, so the past is not in it: git fetch --unshallow")
        options = ("--first-parent", "--reverse", "--no-commit-header", "--format=%H %T")
        answer = directory.run("rev-list", *options, "--end-of-options", tip, limits=_LINE)
        rows = [row.split(" ") for row in answer.lines]
        return [Link(parse_sha(commit), tree) for commit, tree in rows]

    def receipts(self) -> Mapping[Sha, Receipt]:
        """Return every receipt in the clone's notes."""
        answer = self.checkout.directory.ask(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{NOTES}^{{commit}}"
        )
        if answer.code:
            raise Refused(
                f"This clone has no receipts yet; fetch them: git fetch origin {NOTES}:{NOTES}"
            )
        return read_receipts(self.checkout.directory, parse_sha(answer.text.strip()))
