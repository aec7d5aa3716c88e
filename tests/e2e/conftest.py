from collections.abc import Iterator

import pytest

from tests.support.stack import Stack, stack


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with stack(tmp_path_factory.mktemp("stack")) as running:
        yield running


@pytest.fixture
def bot(shared: Stack) -> Iterator[Stack]:
    """The module's stack, without the trouble that an earlier test made."""
    yield shared
    shared.forge.call("DELETE", "/_forge/faults")
