from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.support.forge import ForgeProcess, Receiver, Work, receiving

NUMBERS = count(1)


@pytest.fixture(scope="module")
def forge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForgeProcess]:
    with ForgeProcess(tmp_path_factory.mktemp("forge")) as served:
        yield served


@pytest.fixture(autouse=True)
def _no_trouble_left(forge: ForgeProcess) -> Iterator[None]:
    yield
    if forge.process and forge.process.poll() is None:
        forge.call("DELETE", "/_forge/faults")


@pytest.fixture
def name(forge: ForgeProcess) -> str:
    """A fresh repository of alice's, with one commit on main."""
    full_name = f"alice/repo{next(NUMBERS)}"
    forge.repo(full_name)
    return full_name


@pytest.fixture
def work(forge: ForgeProcess, name: str, tmp_path: Path) -> Work:
    """Alice's clone of the fresh repository."""
    return forge.clone(name, tmp_path / "work")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as started:
        yield started


@pytest.fixture
def hooked(forge: ForgeProcess, name: str, receiver: Receiver) -> Receiver:
    """A receiver that gets every event of the fresh repository."""
    forge.client("alice").get_repo(name).create_hook(
        "web",
        {"url": receiver.url, "content_type": "json", "secret": "hush"},
        events=["*"],
    )
    return receiver


@pytest.fixture
def opened(forge: ForgeProcess, name: str, work: Work) -> Callable[[str], int]:
    """Open a pull request from a branch of this name that adds a file, and return its number."""

    def open_pull(branch: str) -> int:
        work.start(branch)
        work.commit(f"Add {branch}", {f"{branch}.txt": branch})
        work.push("-q", f"HEAD:refs/heads/{branch}")
        repo = forge.client("alice").get_repo(name)
        return repo.create_pull(base="main", head=branch, title=f"Add {branch}").number

    return open_pull
