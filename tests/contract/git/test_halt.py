"""A halt beside the receipts, on real git."""

from pathlib import Path

from mergebot.adapters.git.mirrors import MirrorGit
from mergebot.ports.git import PushOutcome
from tests.contract.git.scenes import landable, landing, mirror_of, proposed
from tests.support.gitrepo import Repo


def test_while_a_halt_is_kept_no_push_lands_and_afterwards_it_does(
    remote: Repo, git: MirrorGit
) -> None:
    head = proposed(remote, {"n": "1\n"})
    push = landing(landable(git), head)
    assert git.halt() == ""
    assert git.replace_halt("", "a freeze")
    assert git.halt() == "a freeze"
    assert git.push_landing(push) is PushOutcome.HALTED
    assert git.replace_halt("a freeze", "")
    assert git.push_landing(push) is PushOutcome.LANDED


def test_a_halt_that_another_host_kept_meanwhile_is_met_at_the_push(
    remote: Repo, git: MirrorGit, tmp_path: Path
) -> None:
    head = proposed(remote, {"n": "1\n"})
    push = landing(landable(git), head)
    assert git.receipts() == {}
    assert mirror_of(remote.url, tmp_path / "elsewhere").replace_halt("", "a freeze")
    assert git.push_landing(push) is PushOutcome.HALTED


def test_a_halt_is_replaced_by_whoever_knows_it_and_leaves_the_receipts_alone(
    remote: Repo, git: MirrorGit
) -> None:
    head = proposed(remote, {"n": "1\n"})
    push = landing(landable(git), head)
    assert git.push_landing(push) is PushOutcome.LANDED
    assert git.replace_halt("", "one")
    assert not git.replace_halt("", "two")
    assert git.halt() == "one"
    assert list(git.receipts()) == [push.merged]
    assert remote.git("notes", "--ref=mergebot", "show", push.merged) == push.receipt.text
