from collections.abc import Iterator

import pytest

from mergebot.adapters.github.auth import TokenCredentials
from mergebot.adapters.github.client import Server
from mergebot.adapters.github.forge import GithubForge
from mergebot.adapters.redact import Redactor
from tests.contract.github.scripted import Scripted, scripted


@pytest.fixture
def server() -> Iterator[Scripted]:
    with scripted() as told:
        yield told


@pytest.fixture
def forge(server: Scripted) -> GithubForge:
    redactor = Redactor()
    redactor.add("canary-secret")
    return GithubForge(Server(redactor, server.url, timeout_s=1), TokenCredentials("pat-1"))
