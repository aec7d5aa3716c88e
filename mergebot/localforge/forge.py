"""The forge itself: where its things lie, how it is addressed, and who may touch a repository now."""

import secrets
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from mergebot.localforge.faults import Faults
from mergebot.localforge.git import Bare
from mergebot.localforge.store import Store
from mergebot.localforge.webhooks import Dispatcher

ADMIN = "admin"
PUSHES_PER_PACK = 100


def pack(bare: Bare) -> None:
    """Put loose refs and objects into packs, so that thousands of pushes stay quick to list."""
    bare.ask("pack-refs", "--all")
    bare.ask("repack", "-d", "-q")


class Forge:
    """Everything that a request needs: store, repositories, locks, faults and the postman."""

    def __init__(self, root: Path, public_url: str) -> None:
        self.root = root
        self.url = public_url.rstrip("/")
        self.api = f"{self.url}/api/v3"
        (root / "repositories").mkdir(parents=True, exist_ok=True)
        (root / "spool").mkdir(exist_ok=True)
        self.store = Store(root / "forge.sqlite3")
        self.faults = Faults()
        self.dispatcher = Dispatcher(self.store, self.faults)
        self.tickets: dict[str, tuple[int, int]] = {}
        self.manifests: dict[str, dict[str, Any]] = {}
        self.codes: dict[str, Any] = {}
        self._pushes: defaultdict[int, int] = defaultdict(int)
        self._counting = threading.Lock()
        self._packer = ThreadPoolExecutor(1, "packer")
        self._locks: defaultdict[int, threading.RLock] = defaultdict(threading.RLock)

    def bare(self, repo_id: int) -> Bare:
        """Return the bare repository with this id; its place does not depend on its name."""
        return Bare(self.root / "repositories" / f"{repo_id}.git")

    def lock(self, repo_id: int) -> threading.RLock:
        """Return the lock under which a repository's refs and pull requests change together."""
        return self._locks[repo_id]

    def pushed(self, repo_id: int) -> None:
        """Count a push; now and then pack what pushes leave behind, aside and one at a time."""
        with self._counting:
            self._pushes[repo_id] += 1
            due = self._pushes[repo_id] % PUSHES_PER_PACK == 0
        if due:
            self._packer.submit(pack, self.bare(repo_id))

    def close(self) -> None:
        """Finish what is under way."""
        self.faults.close()
        self.dispatcher.stop()
        self._packer.shutdown(wait=True, cancel_futures=True)

    def admit(self, repo_id: int, user_id: int) -> str:
        """Return a ticket by which the hook of one push proves which push it belongs to."""
        ticket = secrets.token_hex(16)
        self.tickets[ticket] = (repo_id, user_id)
        return ticket
