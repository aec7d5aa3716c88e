from dataclasses import replace
from pathlib import Path

import pytest

from mergebot.adapters.git.mirrors import MirrorGit
from mergebot.domain.policy import Method
from mergebot.domain.receipts import Receipt
from mergebot.ports.errors import Missing
from mergebot.ports.git import Push, PushOutcome
from tests.contract.git.scenes import landable, landing, mirror_of, proposed
from tests.support.gitrepo import Repo


def ready(remote: Repo, git: MirrorGit, generation: int) -> Push:
    head = proposed(remote, {"n": "1\n"})
    remote.commit("Meanwhile", {"o": "o\n"})
    return under(landing(landable(git), head), generation)


def under(push: Push, generation: int) -> Push:
    return replace(push, receipt=Receipt(f'{{"generation":{generation}}}'))


def told(push: Push, trunk: str) -> Push:
    """Let the receipt of a landing say on which trunk it was."""
    return replace(push, receipt=Receipt(f'{{"generation":4,"trunk":"{trunk}"}}'))


def test_a_fenced_landing_does_not_happen_any_more(remote: Repo, git: MirrorGit) -> None:
    push = ready(remote, git, 4)
    before = remote.sha("main")
    assert git.fence(push.merged, 4) is None
    assert git.push_landing(push) is PushOutcome.FENCED
    assert remote.sha("main") == before


def test_a_fence_of_another_host_holds_too(remote: Repo, git: MirrorGit, tmp_path: Path) -> None:
    push = ready(remote, git, 4)
    assert mirror_of(remote.url, tmp_path / "elsewhere").fence(push.merged, 4) is None
    assert git.push_landing(push) is PushOutcome.FENCED


def test_a_later_generation_lands_over_the_fence(remote: Repo, git: MirrorGit) -> None:
    push = ready(remote, git, 4)
    git.fence(push.merged, 4)
    assert git.push_landing(under(push, 5)) is PushOutcome.LANDED
    assert dict(git.receipts()) == {push.merged: under(push, 5).receipt}


def test_a_landing_that_happened_is_told_by_its_receipt(
    remote: Repo, git: MirrorGit, tmp_path: Path
) -> None:
    push = ready(remote, git, 4)
    assert git.push_landing(push) is PushOutcome.LANDED
    assert mirror_of(remote.url, tmp_path / "elsewhere").fence(push.merged, 4) == push.receipt
    assert git.fence(push.merged, 4) == push.receipt


def test_a_receipt_of_an_earlier_generation_does_not_count(remote: Repo, git: MirrorGit) -> None:
    push = ready(remote, git, 4)
    git.push_landing(push)
    assert git.fence(push.merged, 5) is None


def test_a_commit_that_landed_and_was_taken_off_the_trunk_does_not_land_again(
    remote: Repo, git: MirrorGit
) -> None:
    push = ready(remote, git, 4)
    assert git.push_landing(push) is PushOutcome.LANDED
    remote.git("update-ref", "refs/heads/main", push.base)
    assert git.push_landing(under(push, 9)) is PushOutcome.REPEATED
    assert remote.sha("main") == push.base


@pytest.mark.parametrize("method", [Method.REBASE, Method.MERGE])
def test_what_stands_on_a_landing_that_was_taken_off_the_trunk_does_not_bring_it_back(
    remote: Repo, git: MirrorGit, method: Method
) -> None:
    push = told(ready(remote, git, 4), "main")
    assert git.push_landing(push) is PushOutcome.LANDED
    head = proposed(remote, {"p": "p\n"}, name="later")
    remote.git("update-ref", "refs/heads/main", push.base)
    later = told(landing(landable(git, method), head, branch="later"), "main")
    assert push.merged in git.between(later.base, later.merged)
    assert git.push_landing(later) is PushOutcome.REPEATED
    assert remote.sha("main") == push.base


def test_what_landed_on_another_trunk_may_be_brought_along(remote: Repo, git: MirrorGit) -> None:
    push = told(ready(remote, git, 4), "release")
    assert git.push_landing(push) is PushOutcome.LANDED
    head = proposed(remote, {"p": "p\n"}, name="later")
    remote.git("update-ref", "refs/heads/main", push.base)
    later = told(landing(landable(git), head, branch="later"), "main")
    assert git.push_landing(later) is PushOutcome.LANDED
    assert remote.sha("main") == later.merged


def test_fencing_twice_moves_nothing(remote: Repo, git: MirrorGit) -> None:
    push = ready(remote, git, 4)
    git.fence(push.merged, 4)
    before = remote.git("for-each-ref")
    assert git.fence(push.merged, 4) is None
    assert remote.git("for-each-ref") == before


def test_a_remote_that_is_gone_settles_nothing(remote: Repo, git: MirrorGit) -> None:
    push = ready(remote, git, 4)
    remote.path.rename(remote.path.with_name("gone"))
    with pytest.raises(Missing):
        git.fence(push.merged, 4)
