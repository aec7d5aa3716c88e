from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from mergebot.adapters.git.mirrors import MirrorGit
from mergebot.ports.errors import Missing, Refused
from mergebot.ports.git import PushOutcome, RemoteHeads
from tests.contract.git.scenes import landable, landing, mirror_of, proposed
from tests.support.gitrepo import Repo


def fetch_in_a_process(url: str, root: str) -> str:
    heads = mirror_of(url, Path(root)).fetch("main", [7])
    return f"{heads.trunk} {heads.head}"


def test_several_processes_make_and_fetch_one_mirror_at_once(remote: Repo, tmp_path: Path) -> None:
    head = proposed(remote, {"n": "1\n"})
    root = tmp_path / "mirrors"
    with get_context("spawn").Pool(3) as pool:
        arguments = [(remote.url, str(root))] * 9
        answers = pool.starmap(fetch_in_a_process, arguments)
    assert set(answers) == {f"{remote.sha('main')} {head}"}
    assert [path.name for path in root.iterdir()] == ["5.git"]
    assert mirror_of(remote.url, root).local.ask("fsck", "--strict").code == 0


def test_threads_fetching_a_moving_trunk_all_see_a_tip_of_it(remote: Repo, git: MirrorGit) -> None:
    tips = {remote.sha("main")}
    with ThreadPoolExecutor(4) as pool:
        waiting = []
        for number in range(4):
            waiting += [pool.submit(git.fetch, "main", []) for _ in range(2)]
            tips.add(remote.commit(f"Commit {number}", {"n": f"{number}\n"}))
        assert {job.result().trunk for job in waiting} <= tips


def test_locks_that_a_killed_git_left_behind_block_nothing(remote: Repo, git: MirrorGit) -> None:
    head = proposed(remote, {"n": "1\n"})
    remote.commit("Meanwhile", {"o": "o\n"})
    git.push_landing(landing(landable(git), head))
    git.receipts()
    refs = list((git.local.path / "refs" / "mergebot-mirror").rglob("*"))
    for ref in [path for path in refs if path.is_file()]:
        ref.with_name(f"{ref.name}.lock").touch()
    remote.pull(7, proposed(remote, {"m": "1\n"}, name="next"))
    tip = remote.commit("Later", {"p": "p\n"})
    result = landable(git)
    assert result.merge.base == tip
    push = landing(result, remote.sha("next"), branch="next")
    assert git.push_landing(push) is PushOutcome.LANDED
    assert len(git.receipts()) == 2


def test_heads_are_those_of_the_remote_now(remote: Repo, git: MirrorGit) -> None:
    head = proposed(remote, {"n": "1\n"})
    assert git.fetch("main", [7]) == RemoteHeads(remote.sha("main"), head)
    assert git.has(head)
    remote.git("update-ref", "refs/pull/7/head", remote.sha("main"))
    expected = RemoteHeads(remote.sha("main"), remote.sha("main"))
    assert git.remote_heads("main", 7) == git.fetch("main", [7]) == expected


def test_what_is_not_there_is_none_and_stops_nothing_else(remote: Repo, git: MirrorGit) -> None:
    head = proposed(remote, {"n": "1\n"})
    git.fetch("main", [7])
    remote.git("update-ref", "-d", "refs/pull/7/head")
    assert git.fetch("main", [7]) == RemoteHeads(remote.sha("main"), None)
    assert git.remote_heads("gone", 7) == RemoteHeads(None, None)
    remote.pull(8, head)
    assert git.fetch("gone", [8]) == RemoteHeads(None, head)


def test_several_heads_come_at_once(remote: Repo, git: MirrorGit) -> None:
    heads = [proposed(remote, {f"n{n}": "1\n"}, pull=n, name=f"f{n}") for n in (1, 2, 3)]
    assert git.fetch("main", [1, 2, 3]).head is None
    assert all(git.has(head) for head in heads)


def test_tags_and_replacements_are_not_brought_in(remote: Repo, git: MirrorGit) -> None:
    sha = remote.sha("main")
    remote.git("tag", "v1", sha)
    remote.git("update-ref", f"refs/replace/{sha}", remote.commit("Fake", {"x": "x\n"}))
    git.fetch("main", [])
    assert "refs/tags" not in git.local.run("for-each-ref").text
    assert "refs/replace" not in git.local.run("for-each-ref").text


def test_a_branch_whose_name_ends_alike_is_not_taken_for_the_trunk(
    remote: Repo, git: MirrorGit
) -> None:
    sha = remote.sha("main")
    remote.git("update-ref", "refs/heads/refs/heads/trunk", sha)
    assert git.remote_heads("trunk", 1).trunk is None


def test_a_branch_that_is_not_there_is_no_trunk(remote: Repo, git: MirrorGit) -> None:
    assert git.fetch("gone", []).trunk is None
    assert git.fetch("main", []).trunk == remote.sha("main")


def malformed(remote: Repo) -> str:
    row = b"40000 .git\0" + bytes.fromhex(remote.git("mktree", stdin=b""))
    tree = remote.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", stdin=row)
    ident = ("-c", "user.name=x", "-c", "user.email=x@y")
    return remote.git(*ident, "commit-tree", tree, "-m", "Evil")


def test_a_malformed_object_is_not_let_in(remote: Repo, git: MirrorGit) -> None:
    remote.pull(7, malformed(remote))
    with pytest.raises(Refused, match="hasDotgit"):
        git.fetch("main", [7])
    assert "pull/7" not in git.local.run("for-each-ref").text


def test_a_malformed_head_keeps_no_other_out(remote: Repo, git: MirrorGit) -> None:
    good = proposed(remote, {"n": "1\n"}, pull=8)
    remote.pull(7, malformed(remote))
    assert git.fetch("main", [7, 8]).trunk == remote.sha("main")
    assert git.has(good)


def test_a_remote_that_is_gone_is_missing(tmp_path: Path) -> None:
    git = mirror_of(f"file://{tmp_path}/nowhere.git", tmp_path / "m")
    with pytest.raises(Missing):
        git.fetch("main", [])
    with pytest.raises(Missing):
        git.receipts()


def test_a_mirror_of_another_user_is_refused(
    remote: Repo, git: MirrorGit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git.fetch("main", [])
    monkeypatch.setattr("os.geteuid", lambda: 4242)
    with pytest.raises(Refused, match="another user"):
        mirror_of(remote.url, tmp_path / "mirrors")
