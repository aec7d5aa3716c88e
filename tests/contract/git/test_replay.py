from pathlib import Path

import pytest

from mergebot.adapters.git.mirrors import MirrorGit
from mergebot.domain.policy import Method
from mergebot.domain.scope import Mode
from mergebot.ports.errors import Unavailable
from mergebot.ports.git import Conflicted, EmptyReplay, LosesContent, Replayed
from tests.contract.git.scenes import ask, landable, mirror_of, proposed, replay
from tests.support.gitrepo import Executable, Link, Repo, Submodule

EVERY_METHOD = pytest.mark.parametrize("method", list(Method))
BOT = "mergebot <mergebot@users.noreply.github.com>"


@EVERY_METHOD
def test_two_hosts_compute_the_same_commit(remote: Repo, tmp_path: Path, method: Method) -> None:
    proposed(remote, {"new.txt": "1\n"}, {"new.txt": "2\n"})
    remote.commit("Meanwhile", {"other.txt": "o\n"})
    one, other = (landable(mirror_of(remote.url, tmp_path / name), method) for name in "ab")
    assert one == other


@EVERY_METHOD
def test_the_result_is_the_base_and_the_change_and_nothing_else(
    remote: Repo, git: MirrorGit, method: Method
) -> None:
    proposed(remote, {"new.txt": "1\n"}, {"src/b.txt": None})
    base = remote.commit("Meanwhile", {"other.txt": "o\n"})
    result = landable(git, method)
    assert result.merge.base == base
    assert result.merge.paths == ("new.txt", "src/b.txt")
    assert git.tree(result.merge.merged) == result.merge.tree
    assert git.changes(base, result.merge.merged) == result.changes == result.author_changes
    assert git.is_ancestor(base, result.merge.merged)


def test_rebase_keeps_author_dates_and_message_bytes(remote: Repo, git: MirrorGit) -> None:
    remote.branch("feature", "main")
    text = b"Gr\xfc\xdfe\n\n  indented\n\nSigned-off-by: x <x@y>\n\n\n"
    first = remote.commit(text, {"n": "1\n"}, author="J\u00f6 <jo@example.org>")
    head = remote.commit("Second", {"n": "2\n"})
    remote.pull(7, head)
    remote.branch("main")
    remote.commit("Meanwhile", {"other.txt": "o\n"})
    merged = landable(git).merge.merged
    show = f"--git-dir={git.local.path}"
    shape = "--format=%an <%ae> %ad|%cn <%ce>|%cd"
    was = remote.git("log", "-1", shape, first).split("|")
    now = remote.git(show, "log", "-1", shape, f"{merged}^").split("|")
    assert now == [was[0], BOT, remote.git("log", "-1", "--format=%cd", head)]
    raw = git.local.run("cat-file", "commit", f"{merged}^").out
    assert raw.partition(b"\n\n")[2] == text


def test_a_declared_encoding_survives(remote: Repo, git: MirrorGit) -> None:
    remote.branch("feature", "main")
    remote.commit(b"Gr\xfc\xdfe", {"n": "1\n"}, encoding="ISO-8859-1")
    remote.pull(7, remote.commit("Second", {"m": "1\n"}))
    remote.branch("main")
    remote.commit("Meanwhile", {"o": "o\n"})
    merged = landable(git).merge.merged
    (first, _) = git.first_parents(remote.sha(), merged)
    assert git.subject(first) == "Grüße"
    assert b"\nencoding ISO-8859-1\n" in git.local.run("cat-file", "commit", first).out


def test_a_head_that_is_ahead_of_the_trunk_lands_as_it_is(remote: Repo, git: MirrorGit) -> None:
    head = proposed(remote, {"n": "1\n"}, {"n": "2\n"})
    result = landable(git)
    assert (result.merge.merged, result.commits) == (head, 2)


def test_squash_makes_one_commit_by_the_heads_author_that_names_the_others(
    remote: Repo, git: MirrorGit
) -> None:
    remote.branch("feature", "main")
    remote.commit("One", {"n": "1\n"}, author="Bob <bob@example.org>")
    remote.commit("Two", {"n": "2\n"}, author="Ada <ada@example.org>")
    remote.pull(7, remote.commit("Three", {"n": "3\n"}, author="Cy <cy@example.org>"))
    remote.branch("main")
    result = landable(git, Method.SQUASH)
    raw = git.local.run("cat-file", "commit", result.merge.merged).out.decode()
    assert raw.count("\nparent ") == 1
    assert "\nauthor Cy <cy@example.org> " in raw
    assert raw.endswith(
        "\n\nAdd it (#7)\n\nBecause.\n\n"
        "Co-authored-by: Bob <bob@example.org>\nCo-authored-by: Ada <ada@example.org>\n"
    )


def test_merge_keeps_the_head_as_second_parent(remote: Repo, git: MirrorGit) -> None:
    head = proposed(remote, {"n": "1\n"})
    result = landable(git, Method.MERGE)
    parents = git.local.run("rev-parse", f"{result.merge.merged}^@").text.split()
    assert parents == [result.merge.base, head]
    assert result.commits == 1


@EVERY_METHOD
def test_a_clash_names_its_paths(remote: Repo, git: MirrorGit, method: Method) -> None:
    proposed(remote, {"src/b.txt": "mine\n", "fine": "f\n"})
    remote.commit("Meanwhile", {"src/b.txt": "theirs\n"})
    assert replay(git, method) == Conflicted(("src/b.txt",))


@EVERY_METHOD
def test_a_renamed_file_is_followed(remote: Repo, git: MirrorGit, method: Method) -> None:
    body = "".join(f"line {n}\n" for n in range(20))
    proposed(remote, {"a.txt": body.replace("line 3\n", "changed\n")})
    remote.commit("Rename", {"a.txt": None, "z.txt": body})
    assert landable(git, method).merge.paths == ("z.txt",)


@EVERY_METHOD
def test_a_directory_rename_is_a_conflict(remote: Repo, git: MirrorGit, method: Method) -> None:
    files = {f"old/{n}": f"{n}\n" * 9 for n in range(3)}
    remote.commit("Dir", files)
    proposed(remote, {"old/new": "n\n"})
    remote.commit(
        "Move", dict.fromkeys(files) | {p.replace("old", "to"): c for p, c in files.items()}
    )
    result = replay(git, method)
    assert isinstance(result, Conflicted)
    assert result.paths


@EVERY_METHOD
def test_unrelated_histories_conflict_without_paths(
    remote: Repo, git: MirrorGit, method: Method
) -> None:
    remote.branch("stranger")
    remote.pull(7, remote.commit("Other root", {"x": "x\n"}))
    remote.branch("main")
    assert replay(git, method) == Conflicted(())


@EVERY_METHOD
def test_a_head_on_the_trunk_is_empty_on_base(remote: Repo, git: MirrorGit, method: Method) -> None:
    remote.pull(7, remote.sha("main"))
    remote.commit("Later", {"l": "l\n"})
    assert replay(git, method) == EmptyReplay(on_base=True)


@EVERY_METHOD
def test_a_change_the_trunk_has_under_another_id_is_empty_on_base(
    remote: Repo, git: MirrorGit, method: Method
) -> None:
    proposed(remote, {"n": "1\n"}, {"m": "1\n"})
    remote.commit("The same", {"n": "1\n", "m": "1\n"})
    assert replay(git, method) == EmptyReplay(on_base=True)


@EVERY_METHOD
def test_a_branch_without_a_change_is_empty_by_itself(
    remote: Repo, git: MirrorGit, method: Method
) -> None:
    proposed(remote, {"n": "1\n"}, {"n": None})
    remote.commit("Later", {"l": "l\n"})
    assert replay(git, method) == EmptyReplay(on_base=False)


def test_commits_that_became_empty_are_dropped(remote: Repo, git: MirrorGit) -> None:
    proposed(remote, {"n": "1\n"}, {"m": "1\n"})
    remote.commit("The first", {"n": "1\n"})
    result = landable(git)
    assert (result.commits, result.merge.paths) == (1, ("m",))
    assert result.author_changes != result.changes


def test_a_branch_stacked_on_one_that_landed_rewritten_lands(remote: Repo, git: MirrorGit) -> None:
    steps = [{"n": "1\n"}, {"n": "2\n"}, {"n": "3\n"}]
    proposed(remote, *steps)
    remote.commit("Other", {"o": "o\n"})
    remote.commit("feature 1", steps[0])
    remote.commit("feature 2", steps[1])
    result = landable(git)
    assert (result.commits, result.merge.paths) == (1, ("n",))


def test_a_merge_from_the_trunk_that_adds_nothing_is_flattened(
    remote: Repo, git: MirrorGit
) -> None:
    proposed(remote, {"n": "1\n"})
    remote.commit("Meanwhile", {"o": "o\n"})
    remote.branch("feature")
    remote.commit("Merge main", {"o": "o\n"}, parents=("main",))
    remote.pull(7, remote.commit("More", {"m": "1\n"}))
    remote.branch("main")
    result = landable(git)
    assert (result.commits, result.merge.paths) == (2, ("m", "n"))


@pytest.mark.parametrize("extra", [{"evil": "e\n"}, {"src/b.txt": "evil\n"}, {"n": "evil\n"}])
def test_what_only_a_merge_commit_holds_is_never_dropped(
    remote: Repo, git: MirrorGit, extra: dict[str, str]
) -> None:
    proposed(remote, {"n": "1\n"})
    remote.commit("Meanwhile", {"o": "o\n"})
    remote.branch("feature")
    remote.pull(7, remote.commit("Merge main", {"o": "o\n"} | extra, parents=("main",)))
    remote.branch("main")
    assert replay(git, Method.REBASE) == LosesContent()
    for method in (Method.SQUASH, Method.MERGE):
        assert landable(git, method).merge.paths == tuple(sorted({"n", *extra}))


def test_a_conflict_that_the_author_solved_in_a_merge_is_told_as_such(
    remote: Repo, git: MirrorGit
) -> None:
    proposed(remote, {"n": "mine\n"})
    remote.commit("Meanwhile", {"n": "theirs\n"})
    remote.branch("feature")
    remote.pull(7, remote.commit("Merge main", {"n": "both\n"}, parents=("main",)))
    remote.branch("main")
    assert replay(git, Method.REBASE) == LosesContent()
    assert isinstance(replay(git, Method.SQUASH), Replayed)


@EVERY_METHOD
def test_every_kind_of_entry_is_carried_and_reported(
    remote: Repo, git: MirrorGit, method: Method
) -> None:
    remote.commit("Kinds", {"run": "x\n", "was": Link("a.txt"), "sub": Submodule("1" * 40)})
    proposed(
        remote,
        {
            "run": Executable("x\n"),
            "was": "plain\n",
            "sub": Submodule("2" * 40),
            "to": Link("/etc"),
        },
    )
    remote.commit("Meanwhile", {"o": "o\n"})
    modes = {c.path: (c.old_mode, c.new_mode) for c in landable(git, method).changes}
    assert modes == {
        "run": (Mode.FILE, Mode.EXECUTABLE),
        "was": (Mode.SYMLINK, Mode.FILE),
        "sub": (Mode.SUBMODULE, Mode.SUBMODULE),
        "to": (Mode.ABSENT, Mode.SYMLINK),
    }


NAMES = (
    "na\u00efve \u2603",
    "new\nline",
    'tab\tquote"',
    "-dash",
    " b/x",
    "\udcff\udcfe",
    "back\\slash",
)


@pytest.mark.parametrize("name", NAMES)
def test_a_path_is_carried_byte_for_byte(remote: Repo, git: MirrorGit, name: str) -> None:
    proposed(remote, {name: "mine\n"})
    base = remote.commit("Meanwhile", {"o": "o\n"})
    result = landable(git)
    assert result.merge.paths == (name,)
    remote.commit("Clash", {name: "theirs\n"})
    assert replay(git) == Conflicted((name,))
    assert base == result.merge.base


def test_a_commit_that_is_not_here_is_unavailable(remote: Repo, git: MirrorGit) -> None:
    head = proposed(remote, {"n": "1\n"})
    with pytest.raises(Unavailable):
        git.replay(ask(remote.sha("main"), head))


def test_attributes_name_no_driver_that_runs(remote: Repo, git: MirrorGit, tmp_path: Path) -> None:
    canary = tmp_path / "ran"
    attributes = "* filter=evil merge=evil diff=evil\n"
    remote.commit("Attributes", {".gitattributes": attributes, "n": "0\n"})
    proposed(remote, {"n": "1\n", ".gitconfig": f'[merge "evil"]\n\tdriver = touch {canary}\n'})
    remote.commit("Meanwhile", {"n": "2\n"})
    assert replay(git) == Conflicted(("n",))
    assert not canary.exists()
