"""Several hosts: each has a home, a mirror and a name of its own, and shares Redis, forge and key."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.stack import Stack, stack_of
from tests.support.valkey import valkey_server
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow

OWN = ("--uts",) if os.getuid() == 0 else ("--user", "--map-root-user", "--uts")
NAMED = ("unshare", *OWN, "sh", "-c", 'hostname "$0" && exec "$@"')
START_S = 60.0


@dataclass
class Hosts(Stack):
    """A stack whose parts run as if on hosts of their own: a front, and some that work."""

    running: dict[str, list[subprocess.Popen[bytes]]] = field(default_factory=dict)

    def start(self) -> None:
        """Make the key that all share, and start the front; workers come later."""
        key = self.root / "key.pem"
        command = ["openssl", "genpkey", "-algorithm", "ed25519", "-out", str(key)]
        subprocess.run(command, check=True, capture_output=True)
        self.begin("front", "web")
        self.begin("front", "reconciler")
        eventually(self.queue, within_s=START_S, what="the page answers")

    def begin(self, host: str, *part: str) -> None:
        """Run a part on a host."""
        home = self.root / host
        home.mkdir(exist_ok=True)
        own = home / "signing.pem"
        shutil.copyfile(self.root / "key.pem", own)
        own.chmod(0o600)
        told = {"MERGEBOT_HOME": str(home), "MERGEBOT_SIGNING_KEY_FILE": str(own)}
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [*NAMED, host, sys.executable, "-m", "mergebot", *part],
                env=self.environment() | told,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.running.setdefault(host, []).append(process)

    def dies(self, host: str) -> None:
        """End everything on a host at once."""
        for each in self.running.pop(host):
            with suppress(ProcessLookupError):
                os.killpg(each.pid, signal.SIGKILL)
            each.wait()

    def stop(self) -> None:
        """Stop all hosts."""
        for host in [*self.running]:
            for each in self.running.pop(host):
                each.terminate()
                each.wait(60)

    def slots(self) -> int:
        """Return how many gates may run at once, on all hosts."""
        return int(self.get("/api/v1/repos/alice/demo/health").get("workers", 0))

    def hosts_of(self, *names: str) -> set[str]:
        """Return the hosts that gated these changes, by their receipts."""
        gated = {each["merged"]: str(each["worker"]) for each in self.receipts()}
        subjects = {
            self.work.git("log", "-1", "--format=%s", each).out.strip(): each for each in gated
        }
        return {gated[subjects[f"Add {name}"]].rpartition("-")[0] for name in names}


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    root: Path = tmp_path_factory.mktemp("hosts")
    with valkey_server() as url:
        told = {"MERGEBOT_REDIS_URL": url, "MERGEBOT_WORKERS": "1"}
        with stack_of(Hosts, root, told) as running:
            for host in ("north", "south"):
                running.begin(host, "worker")
            eventually(lambda: running.slots() == 2, within_s=START_S, what="both hosts work")
            yield running


def test_hosts_with_homes_of_their_own_gate_one_queue_until_one_dies_and_after(
    hosts: Hosts,
) -> None:
    names = [f"shared{number}" for number in range(4)]
    pulls = [hosts.propose(name, {f"{name}.txt": name}, label="") for name in names]
    for pr in pulls:
        hosts.label(pr)
    for pr in pulls:
        hosts.wait(pr, "landed")
    assert hosts.landed_once(*names)
    assert hosts.hosts_of(*names) == {"north", "south"}
    mirrors = [[*(hosts.root / host).rglob("*.git")] for host in ("north", "south")]
    assert all(mirrors)
    hosts.dies("north")
    hosts.wait(hosts.landing("afterwards"), "landed")
    assert hosts.hosts_of("afterwards") == {"south"}
