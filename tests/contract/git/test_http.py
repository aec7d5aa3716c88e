import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
import stamina

from mergebot.adapters.git.mirrors import GitMirrors, MirrorGit
from mergebot.ports.errors import Missing, Refused, Unavailable
from mergebot.ports.git import PushOutcome
from tests.contract.git.scenes import TOKEN, landable, landing, mirror_of, proposed, repository
from tests.contract.git.served import DROP, DROP_AFTER, ECHO, Served, serving
from tests.support.gitrepo import Repo

SECRETS = (TOKEN, base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode())


@pytest.fixture
def served(remote: Repo) -> Iterator[Served]:
    with stamina.set_testing(True, attempts=2), serving(remote) as server:
        yield server


@pytest.fixture
def git(served: Served, tmp_path: Path) -> MirrorGit:
    return mirror_of(served.url, tmp_path / "mirrors")


def test_a_landing_over_http_needs_one_connection_to_read_and_one_to_write(
    remote: Repo, served: Served, git: MirrorGit
) -> None:
    head = proposed(remote, {"n": "1\n"})
    remote.commit("Meanwhile", {"o": "o\n"})
    result = landable(git)
    fetched = len(served.requests)
    assert git.push_landing(landing(result, head)) is PushOutcome.LANDED
    assert (fetched, len(served.requests) - fetched) == (3, 2)
    assert remote.log() == ["feature 1", "Meanwhile", "Start"]


def test_the_token_is_in_no_argument_environment_or_file(
    remote: Repo, served: Served, git: MirrorGit
) -> None:
    head = proposed(remote, {"n": "1\n"})
    git.push_landing(landing(landable(git), head))
    git.receipts()
    assert any("remote-http" in text for text in served.processes)
    assert not [text for text in served.processes if any(secret in text for secret in SECRETS)]
    files = [path.read_bytes() for path in git.local.path.rglob("*") if path.is_file()]
    assert files
    assert not [raw for raw in files if any(secret.encode() in raw for secret in SECRETS)]


def test_a_refused_token_is_refused_and_not_repeated(served: Served, tmp_path: Path) -> None:
    wrong = "ghs_wrong"
    git = GitMirrors(tmp_path / "m", lambda: wrong).of(repository(served.url))
    with pytest.raises(Refused) as caught:
        git.fetch("main", [])
    assert wrong not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert served.requests.count("GET /origin.git/info/refs") <= 2


def test_no_token_is_sent_to_another_place(remote: Repo, served: Served, tmp_path: Path) -> None:
    git = mirror_of(served.url.replace("127.0.0.1", "localhost"), tmp_path / "m")
    git.fetch("main", [])
    with serving(remote) as other:
        served.elsewhere = other.url.removesuffix("/origin.git")
        served.faults["info/refs"] = 301
        with pytest.raises(Refused, match="redirects"):
            git.fetch("main", [])
    assert other.requests == []


def test_a_token_that_a_server_says_aloud_is_not_repeated(served: Served, git: MirrorGit) -> None:
    served.faults["info/refs"] = ECHO
    answer = git.remote.ask("ls-remote", "--end-of-options", served.url)
    assert "remote: you said " in answer.err
    assert not [secret for secret in SECRETS if secret in answer.err]


def test_a_repository_that_is_not_there_is_missing(served: Served, tmp_path: Path) -> None:
    git = mirror_of(served.url.replace("origin", "other"), tmp_path / "m")
    with pytest.raises(Missing):
        git.remote_heads("main", 7)


@pytest.mark.parametrize("fault", [500, 502, 503, 429, DROP])
def test_reading_is_tried_again_and_then_unavailable(
    served: Served, git: MirrorGit, fault: int
) -> None:
    served.faults["info/refs"] = fault
    with pytest.raises(Unavailable):
        git.remote_heads("main", 7)
    assert len(served.requests) >= 2


@pytest.mark.parametrize("fault", [500, 503, DROP])
def test_a_landing_that_did_not_arrive_is_unclear(
    remote: Repo, served: Served, git: MirrorGit, fault: int
) -> None:
    head = proposed(remote, {"n": "1\n"})
    push = landing(landable(git), head)
    served.faults["git-receive-pack"] = fault
    assert git.push_landing(push) is PushOutcome.UNCLEAR
    assert remote.log() == ["Start"]
    served.faults.clear()
    assert git.push_landing(push) is PushOutcome.LANDED


def test_a_landing_whose_answer_was_lost_is_unclear_and_repeating_it_lands_it_once(
    remote: Repo, served: Served, git: MirrorGit, tmp_path: Path
) -> None:
    head = proposed(remote, {"n": "1\n"})
    push = landing(landable(git), head)
    served.faults["git-receive-pack"] = DROP_AFTER
    assert git.push_landing(push) is PushOutcome.UNCLEAR
    assert remote.sha("main") == push.merged
    served.faults.clear()
    # So that the receipt is written anew, whatever second it is: notes bear their time.
    assert mirror_of(remote.url, tmp_path / "elsewhere").fence(push.base, 1) is None
    assert git.push_landing(push) is PushOutcome.REPEATED
    assert dict(git.receipts()) == {push.merged: push.receipt}


@pytest.mark.parametrize("status", [401, 403])
def test_a_landing_without_the_right_to_push_is_refused(
    remote: Repo, served: Served, git: MirrorGit, status: int
) -> None:
    head = proposed(remote, {"n": "1\n"})
    push = landing(landable(git), head)
    served.faults["info/refs"] = status
    with pytest.raises(Refused):
        git.push_landing(push)
    assert remote.log() == ["Start"]


def test_a_forge_that_is_gone_leaves_a_landing_unclear(
    remote: Repo, served: Served, git: MirrorGit, tmp_path: Path
) -> None:
    head = proposed(remote, {"n": "1\n"})
    push = landing(landable(git), head)
    gone = mirror_of("http://127.0.0.1:9/origin.git", tmp_path / "mirrors")
    assert gone.push_landing(push) is PushOutcome.UNCLEAR


def test_only_the_allowed_protocols_are_spoken(remote: Repo, tmp_path: Path) -> None:
    git = GitMirrors(tmp_path / "m", lambda: TOKEN).of(repository(remote.url))
    with pytest.raises(Refused, match="not allowed"):
        git.fetch("main", [])
    canary = tmp_path / "ran"
    helper = GitMirrors(tmp_path / "m", lambda: TOKEN).of(repository(f"ext::touch {canary}"))
    with pytest.raises(Refused):
        helper.fetch("main", [])
    assert not canary.exists()
