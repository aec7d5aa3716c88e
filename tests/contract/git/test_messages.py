import pytest

from mergebot.adapters.git.mirrors import MirrorGit
from mergebot.domain.policy import Method
from mergebot.ports.git import Replayed, ReplayRequest
from tests.contract.git.scenes import landable, proposed
from tests.support.gitrepo import Repo

TEMPTING = """cc @acme/everyone

Closes #12, fixes https://forge.test/o/r/issues/3 and GH-4.
See https://forge.test/o/r/pull/5#issuecomment-99 or ask ada@example.org.

```mergebot
task = "T"
claims = ["src/**"]
```

<!-- template: tick
the boxes -->
skip-checks: true
Reviewed-by: Ada <ada@example.org>
"""


@pytest.mark.parametrize("method", [Method.SQUASH, Method.MERGE])
def test_a_description_does_nothing_as_the_message_of_a_commit(
    remote: Repo, git: MirrorGit, method: Method
) -> None:
    proposed(remote, {"n": "1\n"})
    title = "Thank @alice, fix #3 [skip ci] [No CI] (#7)"
    heads = git.fetch("main", [7])
    assert heads.trunk
    assert heads.head
    result = git.replay(ReplayRequest(heads.trunk, heads.head, method, title, TEMPTING))
    assert isinstance(result, Replayed)
    raw = git.local.run("cat-file", "commit", result.merge.merged).out.decode()
    message = raw.partition("\n\n")[2]
    live = ("@alice", "@acme", "#12", "#3", "GH-4", "fixes http", "[skip", "[No", "skip-checks")
    assert [each for each in live if each in message] == []
    assert message.replace("\u2060", "") == (
        "Thank @alice, fix #3 [skip ci] [No CI] (#7)\n\n"
        "cc @acme/everyone\n\n"
        "Closes #12, fixes https://forge.test/o/r/issues/3 and GH-4.\n"
        "See https://forge.test/o/r/pull/5#issuecomment-99 or ask ada@example.org.\n\n"
        "skip-checks: true\nReviewed-by: Ada <ada@example.org>\n"
    )
    assert "(#7)" in message
    assert "Ada <ada@example.org>" in message


def test_no_control_character_gets_into_a_message(remote: Repo, git: MirrorGit) -> None:
    proposed(remote, {"n": "1\n"})
    heads = git.fetch("main", [7])
    assert heads.trunk
    assert heads.head
    title, body = "Clear\x1b[2J the\x07 screen", "first\x1b]0;title\x07 line\n\x00second"
    result = git.replay(ReplayRequest(heads.trunk, heads.head, Method.SQUASH, title, body))
    assert isinstance(result, Replayed)
    raw = git.local.run("cat-file", "commit", result.merge.merged).out
    message = raw.partition(b"\n\n")[2]
    assert b"screen" in message
    assert b"second" in message
    assert [byte for byte in message if byte < 0x20 and byte != 0x0A] == []


def test_a_rebase_keeps_the_authors_own_message_byte_for_byte(remote: Repo, git: MirrorGit) -> None:
    remote.branch("feature", "main")
    said = "Thank @alice [skip ci]\n\nCloses #12\n<!-- kept -->\n"
    remote.pull(7, remote.commit(said, {"n": "1\n"}))
    remote.branch("main")
    remote.commit("Meanwhile", {"m": "1\n"})
    result = landable(git, Method.REBASE)
    raw = git.local.run("cat-file", "commit", result.merge.merged).out.decode()
    assert raw.partition("\n\n")[2].rstrip("\n") == said.rstrip("\n")
