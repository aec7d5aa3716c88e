"""A trunk with receipts on real git, written by the product's own code, and a way to spoil it."""

import io
import json
from collections.abc import Callable
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from mergebot.adapters.git.command import GitDir
from mergebot.adapters.git.notes import write_notes
from mergebot.adapters.signing import KeyNotary
from mergebot.cli.main import run
from mergebot.domain.candidate import Merge, Queued
from mergebot.domain.ids import Sha
from mergebot.domain.receipts import LandingRecord, Receipt, write_receipt
from mergebot.services.vouching import signed
from tests.support.builders import LANE, candidate, verdict
from tests.support.gitrepo import Repo

NOTES = "refs/notes/mergebot"


def new_notary() -> KeyNotary:
    """Return the holder of a key that nobody else has."""
    return KeyNotary(Ed25519PrivateKey.generate())


@dataclass
class Trunk:
    """A repository whose trunk was adopted at its first commit; each landing has its receipt."""

    repo: Repo
    notary: KeyNotary = field(default_factory=new_notary)
    receipts: dict[Sha, Receipt] = field(default_factory=dict)
    last: str = ""
    landings: int = 0

    @classmethod
    def adopted(cls, path: Path) -> "Trunk":
        """Return a trunk that nothing was landed on yet."""
        repo = Repo.init(path)
        repo.commit("Start", {"a": "0"})
        return cls(repo)

    def push(self, name: str) -> Sha:
        """Put a commit on the trunk past the queue."""
        return self.repo.commit(name, {name: name})

    def land(self, name: str, commits: int = 1) -> Sha:
        """Land a change of so many commits, with its receipt."""
        base = self.repo.sha("main")
        for number in range(commits):
            self.push(f"{name}{number}")
        merged = self.repo.sha("main")
        self.landings += 1
        return self.note(merged, self.receipt(base, merged))

    def receipt(self, base: Sha, merged: Sha) -> Receipt:
        """Return the signed receipt of a landing, chained to the one before."""
        merge = Merge(base, merged, self.repo.git("rev-parse", f"{merged}^{{tree}}"), ("a",))
        record = LandingRecord("2026-11-29T12:00:00Z", self.landings, self.last)
        landed = candidate(self.landings, Queued())
        passed = replace(verdict(self.landings, base), merged=merged, base=base)
        written = write_receipt(LANE, landed, merge=merge, verdict=passed, record=record)
        return signed(self.notary, written)

    def note(self, commit: Sha, receipt: Receipt) -> Sha:
        """Keep a receipt as the note of a commit, the last one of the chain."""
        self.receipts[commit] = receipt
        self.last = receipt.digest
        return commit

    def change(self, commit: Sha, how: Callable[[dict[str, Any]], None]) -> None:
        """Spoil a note by hand."""
        fields = dict(self.receipts[commit].fields)
        how(fields)
        self.receipts[commit] = Receipt(json.dumps(fields))

    def verify(self, *keys: KeyNotary, options: tuple[str, ...] = ()) -> dict[str, Any]:
        """Ask `mergebot receipt verify` in a fresh clone that has the notes and the public keys."""
        answer = self.ask("verify", "--json", *options, *self.keys(*keys))
        found: dict[str, Any] = json.loads(answer[1])
        assert answer[0] == (0 if found["whole"] else 1), answer
        return found

    def flaws(self, *keys: KeyNotary) -> list[tuple[str, str]]:
        """Return each flaw that verifying finds, with the commit's subject."""
        return [
            (each["flaw"], self.repo.git("log", "-1", "--format=%s", each["commit"]))
            for each in self.verify(*keys)["findings"]
        ]

    def ask(self, *words: str) -> tuple[int, str, str]:
        """Run `mergebot receipt` in a fresh clone; return its exit code and what it said."""
        said, faults = io.StringIO(), io.StringIO()
        with ExitStack() as stack:
            stack.enter_context(chdir(self.clone()))
            stack.enter_context(redirect_stdout(said))
            stack.enter_context(redirect_stderr(faults))
            code = run(["receipt", *words])
        return code, said.getvalue(), faults.getvalue()

    def clone(self) -> Path:
        """Return a fresh clone with the notes as they are."""
        if self.receipts:
            git = GitDir(self.repo.path)
            self.repo.git(
                "update-ref", NOTES, write_notes(git, [*self.receipts.items()], onto=None)
            )
        path = self.repo.path.parent / f"clone{len(list(self.repo.path.parent.iterdir()))}"
        self.repo.git("clone", "-q", "--no-local", self.repo.url, str(path))
        if self.receipts:
            Repo(path).git("fetch", "-q", "origin", f"{NOTES}:{NOTES}")
        return path

    def keys(self, *keys: KeyNotary) -> list[str]:
        """Return the options that hand over public keys, those of the trunk where none are given."""
        words: list[str] = []
        for each in keys or (self.notary,):
            file = self.repo.path.parent / f"{each.key_id[:12]}.pem"
            file.write_text(each.public_pem)
            words += ["--key", str(file)]
        return words
