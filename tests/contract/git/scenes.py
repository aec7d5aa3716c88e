from collections.abc import Mapping
from pathlib import Path

from mergebot.adapters.git.mirrors import GitMirrors, MirrorGit
from mergebot.domain.ids import Sha
from mergebot.domain.policy import Method
from mergebot.domain.receipts import Receipt
from mergebot.ports.forge import Repository
from mergebot.ports.git import Push, Replay, Replayed, ReplayRequest
from tests.support.gitrepo import Entry, Repo

TOKEN = "ghs_canary-0123456789"


def repository(url: str) -> Repository:
    return Repository(5, "o/r", "main", url, private=False, archived=False)


def mirror_of(url: str, root: Path) -> MirrorGit:
    return GitMirrors(root, lambda: TOKEN, ("file", "http")).of(repository(url))


def proposed(
    remote: Repo, *steps: Mapping[str, Entry], pull: int = 7, name: str = "feature"
) -> Sha:
    remote.branch(name, "main")
    for number, files in enumerate(steps, 1):
        remote.commit(f"{name} {number}\n\nWhy {number}.", files)
    remote.pull(pull, remote.sha())
    remote.branch("main")
    return remote.sha(name)


def ask(base: Sha, head: Sha, method: Method = Method.REBASE) -> ReplayRequest:
    return ReplayRequest(base, head, method, "Add it (#7)", "Because.")


def replay(git: MirrorGit, method: Method = Method.REBASE) -> Replay:
    heads = git.fetch("main", [7])
    assert heads.trunk
    assert heads.head
    return git.replay(ask(heads.trunk, heads.head, method))


def landable(git: MirrorGit, method: Method = Method.REBASE) -> Replayed:
    result = replay(git, method)
    assert isinstance(result, Replayed), result
    return result


def landing(result: Replayed, head: Sha, *, branch: str = "feature", trunk: str = "main") -> Push:
    merge = result.merge
    receipt = Receipt(f'{{"merged":"{merge.merged}","v":1}}')
    return Push(trunk, merge.base, merge.merged, receipt, branch, head)
