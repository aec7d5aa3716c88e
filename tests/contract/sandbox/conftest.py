"""Both sandboxes keep the same promises; what only bubblewrap promises has a file of its own."""

import secrets
from pathlib import Path

import pytest

from mergebot.adapters.sandbox.bounds import MIB, Bounds
from mergebot.adapters.sandbox.bubblewrap import Bubblewrap
from mergebot.adapters.sandbox.plain import Plain
from mergebot.ports.sandbox import Sandbox
from tests.contract.sandbox.steps import Bench

SMALL = Bounds(
    memory_bytes=256 * MIB, scratch_bytes=16 * MIB, file_bytes=4 * MIB, processes=64, open_files=256
)
SANDBOXES: dict[str, Sandbox] = {
    "bubblewrap": Bubblewrap(bounds=SMALL, output_bytes_max=MIB),
    "plain": Plain(bounds=SMALL, output_bytes_max=MIB),
}


@pytest.fixture(params=[pytest.param("bubblewrap", marks=pytest.mark.sandbox), "plain"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return new_bench(request.param, tmp_path)


@pytest.fixture
def bubblewrap(tmp_path: Path) -> Bench:
    return new_bench("bubblewrap", tmp_path)


def new_bench(name: str, tmp_path: Path) -> Bench:
    workspace = tmp_path / "workspace"
    workspace.mkdir(mode=0o700)
    return Bench(SANDBOXES[name], workspace)


@pytest.fixture
def marker() -> str:
    """Return a number of seconds that no other `sleep` on this host was given."""
    return f"4{secrets.randbelow(10**8):08}"
