import base64
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from redis import Redis

from tests.security.canaries import Leaving, Watch, forms
from tests.support.signing import SshKey
from tests.support.stack import ADMIN, REPO, SECRET, Stack, free_port, stack
from tests.support.valkey import valkey_server
from tests.support.waiting import eventually

pytestmark = [pytest.mark.slow, pytest.mark.sandbox]

PASSWORD = "canary-redis-8f1d20c95ab3"
AMBIENT = "canary-ambient-51c0ffee77d2"
CLIENT = "canary-oauth-90ab12cd34ef"
HOOK = "canary-hook-77aa88bb99cc"
PRYING = """\
env; id; ls -la / /home /root /run /var/run 2>&1
cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'
cat ~/.netrc ~/.git-credentials ~/.config/gh/hosts.yml /etc/shadow 2>&1
git config --list --show-origin; git remote -v; cat .git/config
find / -xdev \\( -name '*.pem' -o -name 'admin-token' -o -name '.env' \\) 2>/dev/null
for port in 6379 8420 $PORTS; do (echo PING > /dev/tcp/127.0.0.1/$port) 2>&1; done
"""


@dataclass
class Planted:
    bot: Stack
    redis: Redis
    secrets: dict[str, str]
    watch: Watch


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planted]:
    root = tmp_path_factory.mktemp("canaries")
    with valkey_server() as url:
        redis, port = Redis.from_url(url), free_port()
        for name, value in (("bind", "127.0.0.1"), ("port", port), ("requirepass", PASSWORD)):
            redis.config_set(name, value)
        settings = {
            "MERGEBOT_REDIS_URL": f"redis://:{PASSWORD}@127.0.0.1:{port}/0",
            "MERGEBOT_SANDBOX": "bubblewrap",
            "MERGEBOT_WEBHOOK_SECRET": f"{SECRET},{HOOK}",
            "MERGEBOT_OAUTH_CLIENT_ID": "client",
            "MERGEBOT_OAUTH_CLIENT_SECRET": CLIENT,
            "AWS_SECRET_ACCESS_KEY": AMBIENT,
            "MERGEBOT_COMMIT_KEY_FILE": str(SshKey.made(root / "commit-key").path),
            "MERGEBOT_COMMIT_EMAIL": "queuebot@users.noreply.localhost",
        }
        with stack(root, settings) as bot, Watch(bot) as watch:
            yield Planted(bot, Redis.from_url(settings["MERGEBOT_REDIS_URL"]), _all(bot), watch)


def _all(bot: Stack) -> dict[str, str]:
    pem = (bot.root / "home" / "signing-key.pem").read_text()
    commit_key = Path(bot.settings["MERGEBOT_COMMIT_KEY_FILE"]).read_text().splitlines()[1:-1]
    return {
        "forge token": bot.forge.user("queuebot"),
        "admin token": ADMIN,
        "webhook secret": HOOK,
        "redis password": PASSWORD,
        "oauth secret": CLIENT,
        "signing key": "".join(pem.splitlines()[1:-1]),
        "commit key": "".join(commit_key),
        "a line of the commit key": commit_key[2],
        "ambient": AMBIENT,
    }


def leaks(planted: Planted, texts: dict[str, str]) -> list[tuple[str, str]]:
    return [
        (name, place)
        for place, text in texts.items()
        for name, secret in planted.secrets.items()
        if any(form in text for form in forms(secret))
    ]


def test_a_gate_that_pries_finds_nothing_and_nothing_leaves(planted: Planted) -> None:
    bot = planted.bot
    pr = bot.propose("pries", {"test.sh": f"{PRYING}\nexit 1\n"})
    bot.wait(pr, "ejected", within_s=90)
    run = bot.get(f"/api/v1/repos/{REPO}/candidates/{pr}")["run"]
    log = Leaving(bot, planted.redis).all()[f"{bot.address}/{REPO}/pull/{pr}/log/{run}"]
    assert "uid=1000" in log
    assert leaks(planted, dict(Leaving(bot, planted.redis).all())) == []


def test_a_gate_that_knows_secrets_publishes_none(planted: Planted) -> None:
    bot = planted.bot
    told = [secret for name, secret in planted.secrets.items() if name != "ambient"]
    turned = [base64.b85encode(each.encode()).decode() for each in told]
    code = f"import base64\nfor x in {turned!r}:\n  s = base64.b85decode(x).decode()\n"
    code += "  print('leak', s, base64.b64encode(s.encode()).decode())\nraise SystemExit(1)\n"
    pr = bot.propose("tells", {"tell.py": code, "test.sh": "python3 tell.py\n"})
    bot.wait(pr, "ejected", within_s=90)
    told_so = "the comment shows the failure"
    eventually(lambda: "redacted" in "\n".join(bot.comments(pr)), within_s=30, what=told_so)
    assert leaks(planted, dict(Leaving(bot, planted.redis).all())) == []


def test_what_lands_and_its_receipt_hold_no_secret(planted: Planted) -> None:
    bot = planted.bot
    bot.wait(bot.landing("calm"), "landed", within_s=90)
    assert bot.receipts()
    assert leaks(planted, dict(Leaving(bot, planted.redis).all())) == []


def test_no_command_line_and_no_environment_of_git_or_a_gate_holds_a_secret(
    planted: Planted,
) -> None:
    bot, watch = planted.bot, planted.watch
    bot.wait(bot.landing("watched"), "landed", within_s=90)
    eventually(
        lambda: {"git", "bwrap", "step"} <= watch.seen, within_s=30, what="git and bwrap were seen"
    )
    lines = {f"line {n}": x.decode(errors="replace") for n, x in enumerate(watch.lines)}
    around = {f"env {n}": x.decode(errors="replace") for n, x in enumerate(watch.environments)}
    assert leaks(planted, lines | around) == []


def test_the_home_of_the_bot_is_closed_to_others(planted: Planted) -> None:
    home = planted.bot.root / "home"
    assert Path(home, "signing-key.pem").stat().st_mode & 0o077 == 0
    assert home.stat().st_mode & 0o077 == 0
