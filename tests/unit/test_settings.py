import os
from pathlib import Path

import pytest

from mergebot.settings import Need, Settings, SettingsFaults, admin_token, kept_admin_token, load

GOOD = {
    "MERGEBOT_GITHUB_TOKEN": "ghp_0123456789abcdef",
    "MERGEBOT_REPOS": "o/r, o/second.repo",
    "MERGEBOT_WEBHOOK_SECRET": "new, old",
    "MERGEBOT_REDIS_URL": "redis://localhost/0",
}
SERVE = Need.FORGE | Need.WEBHOOKS | Need.REDIS


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [each for each in os.environ if each.startswith("MERGEBOT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MERGEBOT_HOME", str(tmp_path / "home"))


def environment(monkeypatch: pytest.MonkeyPatch, **changes: str) -> None:
    for name, value in {**GOOD, **changes}.items():
        monkeypatch.setenv(name, value)


def faults(need: Need = SERVE) -> list[str]:
    with pytest.raises(SettingsFaults) as caught:
        load(need)
    return list(caught.value.faults)


def test_good_settings_are_read_and_given_their_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, VALKEY_PASSWORD="unrelated", MERGEBOT_TEST_SEED="1")
    settings = load(SERVE)
    assert settings.repos == ("o/r", "o/second.repo")
    assert settings.webhook_secrets == ("new", "old")
    assert (settings.host, settings.port, settings.reconcile_seconds) == ("127.0.0.1", 8420, 30)
    assert settings.pages == "http://127.0.0.1:8420"
    assert settings.sandbox == "bubblewrap"
    assert settings.workers >= 1


def test_a_receiver_of_notifications_is_a_secret_with_an_address_and_known_events(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment(monkeypatch, MERGEBOT_NOTIFY_URL="ftp://told.example/secret-path")
    environment(monkeypatch, MERGEBOT_NOTIFY_EVENTS="landed, lost")
    told = faults()
    assert [each.partition(";")[0] for each in told] == [
        "MERGEBOT_NOTIFY_URL",
        "MERGEBOT_NOTIFY_EVENTS is 'landed, lost'",
    ]
    assert "secret-path" not in " ".join(told)
    environment(monkeypatch, MERGEBOT_NOTIFY_URL="https://told.example/x")
    environment(monkeypatch, MERGEBOT_NOTIFY_EVENTS="landed, halted")
    assert "belong together" in " ".join(faults())
    environment(monkeypatch, MERGEBOT_NOTIFY_SECRET="between us")
    assert load(SERVE).notify_events == ("landed", "halted")


def test_a_commit_key_needs_the_address_that_it_signs_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key = tmp_path / "commit-key"
    environment(monkeypatch, MERGEBOT_COMMIT_KEY_FILE=str(key), MERGEBOT_COMMIT_EMAIL="nobody")
    told = " ".join(faults())
    assert "MERGEBOT_COMMIT_KEY_FILE is" in told
    assert "MERGEBOT_COMMIT_EMAIL is 'nobody'; allowed is an e-mail address." in told
    key.write_text("a key")
    environment(monkeypatch, MERGEBOT_COMMIT_EMAIL="")
    assert any("COMMIT_EMAIL belong together" in each for each in faults())
    address = "7+landing-bot[bot]@users.noreply.github.com"
    environment(monkeypatch, MERGEBOT_COMMIT_EMAIL=address)
    assert load(SERVE).commit_email == address


def test_everything_missing_is_told_at_once() -> None:
    told = faults()
    for name in ("GITHUB_TOKEN", "REPOS", "WEBHOOK_SECRET", "REDIS_URL"):
        assert any(each.startswith(f"MERGEBOT_{name} is not set") for each in told), name
    assert len(told) == 4


def test_what_is_wrong_is_named_with_what_was_found_and_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment(
        monkeypatch,
        MERGEBOT_PORT="0",
        MERGEBOT_REPOS="norepo",
        MERGEBOT_SANDBOX="chroot",
        MERGEBOT_REDIS_URL="http://localhost",
        MERGEBOT_RECONCILE_SECONDS="soon",
        MERGEBOT_PUBLIC_URL="example.org",
        MERGEBOT_HANDLE="a b",
        MERGEBOT_SIGNING_KEY_FILE="/nowhere/key",
        MERGEBOT_WORKERS="none",
    )
    told = faults()
    assert len(told) == 9
    assert "MERGEBOT_PORT is '0'; allowed is a whole number from 1 to 65535." in told
    assert "MERGEBOT_SANDBOX is 'chroot'; allowed is bubblewrap, podman, docker or none." in told
    assert "MERGEBOT_REPOS is 'norepo'; allowed is owner/name, several separated by commas." in told


def test_an_empty_variable_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, MERGEBOT_PORT="", MERGEBOT_PUBLIC_URL="", MERGEBOT_WEBHOOK_SECRET=" ,")
    assert len(faults()) == 1
    assert load(Need.FORGE).port == 8420


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"MERGEBOT_GITHUB_APP_ID": "7"}, "not both"),
        ({"MERGEBOT_GITHUB_TOKEN": "", "MERGEBOT_GITHUB_APP_ID": "7"}, "APP_KEY_FILE is not set"),
        ({"MERGEBOT_GITHUB_TOKEN": "", "MERGEBOT_GITHUB_APP_KEY_FILE": __file__}, "APP_ID is not"),
    ],
)
def test_contradictory_credentials_are_refused(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], part: str
) -> None:
    environment(monkeypatch, **given)
    (told,) = faults()
    assert part in told


def test_an_app_needs_no_list_of_repositories(monkeypatch: pytest.MonkeyPatch) -> None:
    app = {"MERGEBOT_GITHUB_APP_ID": "7", "MERGEBOT_GITHUB_APP_KEY_FILE": __file__}
    environment(monkeypatch, MERGEBOT_GITHUB_TOKEN="", MERGEBOT_REPOS="", **app)
    assert load(SERVE).github_app_id == 7


def test_no_secret_is_ever_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "hunter2-hunter2"
    environment(monkeypatch, MERGEBOT_GITHUB_TOKEN=secret, MERGEBOT_ADMIN_TOKEN=secret)
    assert secret not in repr(load(SERVE))


def test_a_command_line_that_only_asks_needs_nothing() -> None:
    assert load().repos == ()


def test_the_embedded_server_is_found_by_its_note(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, MERGEBOT_REDIS_URL="")
    home = Settings().home
    (home / "valkey").mkdir(parents=True)
    (home / "valkey" / "socket").write_text("/run/a b/valkey.sock")
    assert load(SERVE).redis == "unix:///run/a%20b/valkey.sock"


def test_an_admin_token_is_made_once_and_kept_for_its_owner_alone() -> None:
    settings = Settings()
    assert kept_admin_token(settings) == ""
    made = admin_token(settings)
    file = settings.home / "admin-token"
    assert len(made) == 48
    assert admin_token(Settings()) == kept_admin_token(settings) == made
    assert file.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in settings.home.iterdir()] == ["admin-token"]


def test_a_given_admin_token_is_used_and_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    environment(monkeypatch, MERGEBOT_ADMIN_TOKEN="mine")
    assert admin_token(Settings()) == "mine"
    assert not Settings().home.exists()


@pytest.mark.parametrize(
    ("host", "address"),
    [("0.0.0.0", "http://127.0.0.1:8420"), ("::", "http://[::1]:8420"), ("h", "http://h:8420")],
)
def test_the_own_address_is_one_that_can_be_connected_to(
    monkeypatch: pytest.MonkeyPatch, host: str, address: str
) -> None:
    environment(monkeypatch, MERGEBOT_HOST=host)
    assert load().address == address


@pytest.mark.parametrize(
    ("url", "writes"),
    [
        ("https://api.github.com", 80),
        ("https://api.octocorp.ghe.com", 80),
        ("https://git.example.org/api/v3", 0),
        ("http://127.0.0.1:3000/api/v3", 0),
    ],
)
def test_writes_are_paced_where_github_hosts_the_forge(
    monkeypatch: pytest.MonkeyPatch, url: str, writes: int
) -> None:
    environment(monkeypatch, MERGEBOT_GITHUB_URL=url)
    assert load(SERVE).writes_per_minute == writes
