import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from mergebot.adapters.git.mirrors import MirrorGit
from mergebot.domain.policy import Method
from mergebot.domain.receipts import Receipt
from mergebot.ports.errors import Refused
from mergebot.ports.git import Carried, Push, PushOutcome, Replayed
from tests.contract.git.scenes import ask, landable, landing, mirror_of, proposed
from tests.support.gitrepo import Repo


def refs(remote: Repo) -> str:
    return remote.git("for-each-ref")


def hook(remote: Repo, name: str, script: str) -> None:
    path = remote.path / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_trunk_receipt_and_head_branch_move_together(remote: Repo, git: MirrorGit) -> None:
    head = proposed(remote, {"n": "1\n"}, {"m": "1\n"})
    remote.commit("Meanwhile", {"o": "o\n"})
    push = landing(landable(git), head)
    assert git.push_landing(push) is PushOutcome.LANDED
    assert remote.sha("main") == remote.sha("feature") == push.merged
    assert remote.log() == ["feature 2", "feature 1", "Meanwhile", "Start"]
    assert remote.git("notes", "--ref=mergebot", "show", push.merged) == push.receipt.text


def test_a_head_branch_named_with_the_end_of_a_line_moves_like_any_other(
    remote: Repo, git: MirrorGit
) -> None:
    head = proposed(remote, {"n": "1\n"}, name="a\u2028b")
    remote.commit("Meanwhile", {"o": "o\n"})
    push = replace(landing(landable(git), head), head_branch="a\u2028b")
    assert git.push_landing(push) is PushOutcome.LANDED
    assert remote.sha("a\u2028b") == push.merged


def test_a_trunk_that_moved_changes_nothing(remote: Repo, git: MirrorGit) -> None:
    head = proposed(remote, {"n": "1\n"})
    push = landing(landable(git), head)
    remote.commit("First", {"o": "o\n"})
    before = refs(remote)
    assert git.push_landing(push) is PushOutcome.TRUNK_MOVED
    assert refs(remote) == before


def test_a_trunk_that_was_rewound_counts_as_moved(remote: Repo, git: MirrorGit) -> None:
    start = remote.sha("main")
    head = proposed(remote, {"n": "1\n"})
    remote.commit("To be removed", {"o": "o\n"})
    push = landing(landable(git), head)
    remote.git("update-ref", "refs/heads/main", start)
    assert git.push_landing(push) is PushOutcome.TRUNK_MOVED
    assert remote.sha("main") == start


def test_a_head_branch_that_moved_or_went_changes_nothing(remote: Repo, git: MirrorGit) -> None:
    head = proposed(remote, {"n": "1\n"})
    remote.commit("Meanwhile", {"o": "o\n"})
    push = landing(landable(git), head)
    remote.branch("feature")
    remote.commit("Pushed later", {"n": "2\n"})
    before = refs(remote)
    assert git.push_landing(push) is PushOutcome.HEAD_REFUSED
    assert refs(remote) == before
    remote.git("update-ref", "-d", "refs/heads/feature")
    assert git.push_landing(push) is PushOutcome.HEAD_REFUSED
    assert remote.log("main") == ["Meanwhile", "Start"]


def test_a_protected_head_branch_is_left_out_the_next_time(remote: Repo, git: MirrorGit) -> None:
    head = proposed(remote, {"n": "1\n"})
    remote.commit("Meanwhile", {"o": "o\n"})
    result = landable(git)
    hook(remote, "update", 'test "$1" != refs/heads/feature')
    assert git.push_landing(landing(result, head)) is PushOutcome.HEAD_REFUSED
    assert git.push_landing(landing(result, head, branch="")) is PushOutcome.LANDED
    assert (remote.sha("main"), remote.sha("feature")) == (result.merge.merged, head)


def test_a_protected_trunk_is_refused_in_the_forges_words(remote: Repo, git: MirrorGit) -> None:
    head = proposed(remote, {"n": "1\n"})
    remote.commit("Meanwhile", {"o": "o\n"})
    push = landing(landable(git), head)
    script = (
        'test "$1" != refs/heads/main || { echo "error: GH006: Protected branch" >&2; exit 1; }'
    )
    hook(remote, "update", script)
    before = refs(remote)
    with pytest.raises(Refused, match="GH006: Protected branch"):
        git.push_landing(push)
    assert refs(remote) == before


def test_a_hook_that_declines_everything_is_asked_again_without_the_head_branch(
    remote: Repo, git: MirrorGit
) -> None:
    head = proposed(remote, {"n": "1\n"})
    remote.commit("Meanwhile", {"o": "o\n"})
    result = landable(git)
    hook(remote, "pre-receive", 'echo "closed today" >&2; exit 1')
    assert git.push_landing(landing(result, head)) is PushOutcome.HEAD_REFUSED
    with pytest.raises(Refused, match="closed today"):
        git.push_landing(landing(result, head, branch=""))


@pytest.mark.parametrize("ref", ["refs/heads/main", "refs/heads/feature", "refs/notes/mergebot"])
def test_a_ref_that_moves_while_the_push_arrives_lets_nothing_land(
    remote: Repo, git: MirrorGit, ref: str
) -> None:
    head = proposed(remote, {"n": "1\n"})
    remote.commit("Meanwhile", {"o": "o\n"})
    push = landing(landable(git), head)
    remote.branch("aside", "main")
    stranger = remote.commit("At the last moment", {"p": "p\n"})
    clear = "unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES"
    once = f"test -e once || {{ touch once; git update-ref {ref} {stranger}; }}"
    hook(remote, "pre-receive", f"{clear}; {once}")
    before = refs(remote)
    outcome = git.push_landing(push)
    if ref == "refs/notes/mergebot":
        assert outcome is PushOutcome.LANDED
        assert list(git.receipts()) == [push.merged]
    else:
        assert outcome in (PushOutcome.TRUNK_MOVED, PushOutcome.HEAD_REFUSED, PushOutcome.UNCLEAR)
        assert refs(remote) == before.replace(remote_line(before, ref), f"{stranger} commit\t{ref}")


def remote_line(listing: str, ref: str) -> str:
    return next(line for line in listing.splitlines() if line.endswith(f"\t{ref}"))


def test_a_receipt_written_meanwhile_is_kept(remote: Repo, git: MirrorGit, tmp_path: Path) -> None:
    remote.branch("release", "main")
    there = remote.commit("Release", {"r": "r\n"})
    head = proposed(remote, {"n": "1\n"})
    other = mirror_of(remote.url, tmp_path / "elsewhere")
    fetched = other.fetch("release", [7])
    assert fetched.trunk == there
    side = other.replay(ask(there, head))
    here = landing(landable(git), head)
    assert isinstance(side, Replayed)
    elsewhere = landing(side, head, branch="", trunk="release")
    assert other.push_landing(elsewhere) is PushOutcome.LANDED
    assert git.push_landing(here) is PushOutcome.LANDED
    kept = {here.merged: here.receipt, elsewhere.merged: elsewhere.receipt}
    assert dict(git.receipts()) == dict(other.receipts()) == kept


def test_receipts_stay_readable_by_git_beyond_one_directory(remote: Repo, git: MirrorGit) -> None:
    head = proposed(remote, {"n": "1\n"})
    push = landing(landable(git), head)
    fill(remote, 270)
    assert git.push_landing(push) is PushOutcome.LANDED
    assert remote.git("notes", "--ref=mergebot", "show", push.merged) == push.receipt.text
    assert len(remote.git("notes", "--ref=mergebot", "list").splitlines()) == 271
    assert len(git.receipts()) == 271


def fill(remote: Repo, count: int) -> None:
    blob = remote.git("hash-object", "-w", "--stdin", stdin=b'{"v":1}\n')
    rows = "".join(f"100644 blob {blob}\t{n:040x}\n" for n in range(1, count + 1))
    tree = remote.git("mktree", stdin=rows.encode())
    ident = ("-c", "user.name=x", "-c", "user.email=x@y")
    commit = remote.git(*ident, "commit-tree", tree, "-m", "Notes")
    remote.git("update-ref", "refs/notes/mergebot", commit)


def test_there_are_no_receipts_before_the_first_landing(git: MirrorGit) -> None:
    assert git.receipts() == {}


def test_a_note_that_is_no_receipt_is_passed_over(remote: Repo, git: MirrorGit) -> None:
    ident = ("-c", "user.name=x", "-c", "user.email=x@y")
    remote.git(*ident, "notes", "--ref=mergebot", "add", "-m", "hello", remote.sha("main"))
    assert git.receipts() == {}


def test_what_does_not_contain_its_base_never_lands(remote: Repo, git: MirrorGit) -> None:
    head = proposed(remote, {"n": "1\n"})
    base = remote.commit("Meanwhile", {"o": "o\n"})
    merge = landable(git).merge
    before = refs(remote)
    with pytest.raises(Refused, match="does not contain"):
        git.push_landing(Push("main", merge.merged, base, Receipt("{}"), "", head))
    assert refs(remote) == before


HOSTILE = [
    "--upload-pack=touch p",
    "--upload-pack=touch${IFS}p",
    "-d",
    "$(id)",
    "`id`",
    ";id",
    "+x",
    "\u2603",
    "x" * 240,
    "@",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_branch_is_only_ever_a_name(
    remote: Repo, git: MirrorGit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    head = proposed(remote, {"n": "1\n"})
    remote.commit("Meanwhile", {"o": "o\n"})
    push = landing(landable(git), head, branch=name)
    before = refs(remote)
    if " " in name:
        with pytest.raises(Refused):
            git.push_landing(push)
        assert refs(remote) == before
    else:
        remote.git("update-ref", f"refs/heads/{name}", head)
        assert git.push_landing(push) is PushOutcome.LANDED
        assert remote.sha(f"refs/heads/{name}") == push.merged
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize("name", ["a:b", "a:refs/heads/main", "*", "a b", "..", "a^", "", "x\ny"])
def test_a_name_that_would_be_a_refspec_is_refused(remote: Repo, git: MirrorGit, name: str) -> None:
    with pytest.raises(Refused):
        git.fetch(name, [])
    with pytest.raises(Refused):
        git.remote_heads(name, 7)
    assert "refs/mergebot-mirror/trunk" not in git.local.run("for-each-ref").text


@pytest.mark.parametrize("name", ["-d", "$(id)", "--output=x", "+main", "\u2603"])
def test_a_trunk_may_have_any_name_that_git_allows(remote: Repo, git: MirrorGit, name: str) -> None:
    remote.git("update-ref", f"refs/heads/{name}", remote.sha("main"))
    head = proposed(remote, {"n": "1\n"})
    assert git.fetch(name, [7]).trunk == remote.sha("main")
    result = git.replay(ask(remote.sha("main"), head, Method.SQUASH))
    assert isinstance(result, Replayed)
    push = landing(result, head, branch="", trunk=name)
    assert git.push_landing(push) is PushOutcome.LANDED
    assert git.remote_heads(name, 7).trunk == push.merged


def test_a_merged_commit_is_published_replaced_and_removed(remote: Repo, git: MirrorGit) -> None:
    head = proposed(remote, {"n": "1\n"})
    git.fetch("main", [7])
    git.keep_candidate(7, head)
    git.keep_candidate(7, remote.sha("main"))
    assert remote.sha("refs/mergebot/candidate/7") == remote.sha("main")
    git.drop_candidate(7)
    git.drop_candidate(7)
    assert "candidate" not in refs(remote)


def test_a_landed_head_branch_is_no_longer_open_work(remote: Repo, git: MirrorGit) -> None:
    head = proposed(remote, {"n": "1\n"})
    remote.commit("Meanwhile", {"o": "o\n"})
    push = landing(landable(git), head)
    git.push_landing(push)
    work = ["git", "merge-base", "--is-ancestor", "feature", "main"]
    assert subprocess.run(work, cwd=remote.path, check=False).returncode == 0


def test_a_group_lands_by_one_push_with_a_note_for_each(remote: Repo, git: MirrorGit) -> None:
    push = group(remote, git)
    below, above = push.all
    assert git.push_landing(push) is PushOutcome.LANDED
    assert remote.sha("main") == remote.sha("b") == above.merged
    assert remote.sha("a") == below.merged
    assert git.receipts() == {each.merged: each.receipt for each in push.all}


def test_a_branch_that_moved_keeps_its_whole_group_from_landing(
    remote: Repo, git: MirrorGit
) -> None:
    push = group(remote, git)
    remote.branch("a")
    remote.commit("Pushed later", {"n": "2\n"})
    before = refs(remote)
    assert git.push_landing(push) is PushOutcome.HEAD_REFUSED
    assert refs(remote) == before


def group(remote: Repo, git: MirrorGit) -> Push:
    first = proposed(remote, {"a": "1\n"}, pull=1, name="a")
    second = proposed(remote, {"b": "1\n"}, pull=2, name="b")
    remote.commit("Meanwhile", {"o": "o\n"})
    base = git.fetch("main", [1, 2]).trunk
    assert base
    below = git.replay(ask(base, first))
    assert isinstance(below, Replayed)
    above = git.replay(ask(below.merge.merged, second))
    assert isinstance(above, Replayed)
    carried = Carried(below.merge.merged, Receipt('{"pr":1}'), "a", first)
    merged = above.merge.merged
    return Push("main", base, merged, Receipt('{"pr":2}'), "b", second, below=(carried,))
