import json
import threading
import time
from base64 import urlsafe_b64decode
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from mergebot.adapters.github.auth import AppCredentials
from mergebot.adapters.github.client import Server
from mergebot.adapters.github.forge import GithubForge
from mergebot.adapters.redact import Redactor
from mergebot.domain.ids import Actor
from mergebot.ports.errors import Missing, Unavailable
from tests.contract.github import payloads
from tests.contract.github.scripted import Reply, Scripted, Seen

INSTALLATION = "/repos/o/r/installation"
TOKENS = "/app/installations/3/access_tokens"


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
    path = tmp_path_factory.mktemp("key") / "app.pem"
    path.write_bytes(pem)
    return path


class App:
    """An App's credentials, and what its forge hands out."""

    def __init__(self, server: Scripted, key_file: Path) -> None:
        self.redactor = Redactor()
        self.lasts_s = 3600.0
        self.handed_out = 0
        target = Server(self.redactor, server.url, timeout_s=1)
        self.credentials = AppCredentials(target, app_id="12", key_file=key_file)
        self.forge = GithubForge(target, self.credentials)
        server.on("GET", INSTALLATION, Reply(200, {"id": 3}))
        server.run("POST", TOKENS, self._token)

    def _token(self, _: Seen) -> Reply:
        self.handed_out += 1
        ends = datetime.fromtimestamp(time.time() + self.lasts_s, UTC).isoformat()
        return Reply(201, {"token": f"opaque-token-{self.handed_out}", "expires_at": ends})


@pytest.fixture
def app(server: Scripted, key_file: Path) -> App:
    return App(server, key_file)


def test_an_app_signs_in_with_a_short_lived_jwt(app: App, server: Scripted) -> None:
    app.credentials.token("o/r")
    for seen in server.seen:
        kind, _, signed = seen.headers["authorization"].partition(" ")
        body = signed.split(".")[1]
        claims = json.loads(urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        assert (kind, claims["iss"]) == ("Bearer", "12")
        assert 0 < claims["exp"] - time.time() <= 600


def test_a_token_is_kept_until_it_would_end_soon(app: App, server: Scripted) -> None:
    assert {app.forge.git_token("o/r") for _ in range(5)} == {"opaque-token-1"}
    assert len(server.seen) == 2


def test_a_token_that_ends_soon_is_replaced(app: App) -> None:
    app.lasts_s = 299
    tokens = [app.credentials.token("o/r") for _ in range(2)]
    assert tokens == ["opaque-token-1", "opaque-token-2"]


def test_many_threads_fetch_one_token(app: App) -> None:
    threads = [threading.Thread(target=app.credentials.token, args=("o/r",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert app.handed_out == 1


def test_a_rejected_token_is_replaced_at_the_next_try(app: App, server: Scripted) -> None:
    path = "/repos/o/r/pulls/7"
    server.on("GET", path, Reply(401, {"message": "Bad credentials"}), Reply(200, payloads.pull()))
    with pytest.raises(Unavailable):
        app.forge.pull("o/r", 7)
    assert app.forge.pull("o/r", 7).number == 7
    used = [seen.headers["authorization"] for seen in server.seen if seen.path == path]
    assert used == ["Bearer opaque-token-1", "Bearer opaque-token-2"]


def test_an_installation_that_is_gone_is_looked_for_anew(app: App, server: Scripted) -> None:
    server.on("GET", INSTALLATION, Reply(200, {"id": 2}), Reply(200, {"id": 3}))
    with pytest.raises(Missing):
        app.credentials.token("o/r")
    assert app.credentials.token("o/r") == "opaque-token-1"


def test_a_live_token_is_hidden_and_an_ended_one_forgotten(app: App) -> None:
    app.lasts_s = -1
    app.credentials.token("o/r")
    assert "token" not in app.redactor.text("opaque-token-1")
    app.credentials.token("o/r")
    app.credentials.token("o/r")
    assert app.redactor.text("opaque-token-1 opaque-token-3") == "opaque-token-1 [redacted]"


def test_an_app_learns_its_account_through_any_installation(app: App, server: Scripted) -> None:
    server.on("GET", "/app", Reply(200, {"slug": "queue"}))
    server.on("GET", "/app/installations", Reply(200, [{"id": 3}]))
    server.on("GET", "/users/queue%5Bbot%5D", Reply(200, {"id": 9, "login": "queue[bot]"}))
    assert app.forge.me() == Actor(9, "queue[bot]")


def test_an_app_that_is_installed_nowhere_says_so(app: App, server: Scripted) -> None:
    server.on("GET", "/app", Reply(200, {"slug": "queue"}))
    server.on("GET", "/app/installations", Reply(200, []))
    with pytest.raises(Missing, match="not installed anywhere"):
        app.forge.me()


@pytest.mark.parametrize("content", [None, b"", b"not a key", b"\xff\xfe"])
def test_a_key_file_that_is_none_is_refused_in_one_sentence(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "key.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match="MERGEBOT_GITHUB_APP_KEY_FILE"):
        AppCredentials(Server(Redactor()), app_id="12", key_file=path)
