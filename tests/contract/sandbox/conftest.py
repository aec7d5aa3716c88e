"""All sandboxes keep the same promises; what one kind alone promises has a file of its own."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from mergebot.adapters.sandbox.bounds import MIB, Bounds
from mergebot.adapters.sandbox.bubblewrap import Bubblewrap
from mergebot.adapters.sandbox.containers import Containers
from mergebot.adapters.sandbox.plain import Plain
from mergebot.ports.sandbox import Sandbox
from tests.contract.sandbox.steps import Bench
from tests.support import engines

SMALL = Bounds(
    memory_bytes=256 * MIB, scratch_bytes=16 * MIB, file_bytes=4 * MIB, processes=64, open_files=256
)
SANDBOXES: dict[str, Sandbox] = {
    "bubblewrap": Bubblewrap(bounds=SMALL, output_bytes_max=MIB),
    "plain": Plain(bounds=SMALL, output_bytes_max=MIB),
    "podman": Containers("podman", bounds=SMALL, output_bytes_max=MIB),
    "docker": Containers("docker", bounds=SMALL, output_bytes_max=MIB),
}
SLOW = [pytest.mark.slow, pytest.mark.sandbox]
ENGINES = [pytest.param(name, marks=SLOW) for name in engines.here()]


@pytest.fixture(scope="session")
def podman_image() -> Iterator[str]:
    with engines.running("podman") as image:
        yield image


@pytest.fixture(scope="session")
def docker_image() -> Iterator[str]:
    with engines.running("docker") as image:
        yield image


@pytest.fixture(params=[pytest.param("bubblewrap", marks=pytest.mark.sandbox), "plain", *ENGINES])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return new_bench(request, tmp_path)


@pytest.fixture(params=ENGINES)
def container(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return new_bench(request, tmp_path)


@pytest.fixture
def bubblewrap(tmp_path: Path) -> Bench:
    return Bench(SANDBOXES["bubblewrap"], new_workspace(tmp_path))


def new_bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    name = request.param
    in_engine = name in {"podman", "docker"}
    image = request.getfixturevalue(f"{name}_image") if in_engine else ""
    return Bench(SANDBOXES[name], new_workspace(tmp_path), image)


def new_workspace(tmp_path: Path) -> Path:
    workspace = tmp_path / "workspace"
    workspace.mkdir(mode=0o700)
    return workspace


@pytest.fixture
def marker() -> str:
    """Return a number of seconds that no other `sleep` on this host was given."""
    return f"4{secrets.randbelow(10**8):08}"
