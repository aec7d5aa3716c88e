import pytest

from mergebot.adapters.git.mirrors import MirrorGit
from mergebot.domain.ids import Sha
from mergebot.domain.limits import PATCH_BYTES_MAX
from mergebot.ports.errors import Unavailable
from tests.support.gitrepo import Link, Repo

NOWHERE = Sha("0" * 39 + "1")


def test_a_file_is_read_as_of_a_commit(remote: Repo, git: MirrorGit) -> None:
    first = remote.sha("main")
    second = remote.commit("Rules", {".mergebot.toml": b"\xff\n"})
    git.fetch("main", [])
    assert git.read(first, ".mergebot.toml") is None
    assert git.read(second, ".mergebot.toml") == b"\xff\n"
    assert git.read(second, "src") is None


def test_nothing_is_said_of_a_commit_that_is_not_here(remote: Repo, git: MirrorGit) -> None:
    assert not git.has(remote.sha("main"))
    git.fetch("main", [])
    assert git.has(remote.sha("main"))
    here = remote.sha("main")
    for act in (
        lambda: git.read(NOWHERE, "a.txt"),
        lambda: git.is_ancestor(NOWHERE, here),
        lambda: git.first_parents(here, NOWHERE),
        lambda: git.between(here, NOWHERE),
        lambda: git.subject(NOWHERE),
        lambda: git.tree(NOWHERE),
        lambda: git.blob(NOWHERE),
        lambda: git.root_files(NOWHERE),
        lambda: git.changes(here, NOWHERE),
        lambda: git.patch(here, NOWHERE),
    ):
        with pytest.raises(Unavailable):
            act()


def test_the_first_parent_line_leaves_out_what_was_merged_and_all_between_has_it(
    remote: Repo, git: MirrorGit
) -> None:
    start = remote.sha("main")
    remote.branch("side", "main")
    remote.commit("On the side", {"s": "s\n"})
    remote.branch("main")
    one = remote.commit("One", {"o": "o\n"})
    merge = remote.commit("Merge", {"s": "s\n"}, parents=("side",))
    git.fetch("main", [])
    assert list(git.first_parents(start, merge)) == [one, merge]
    assert list(git.first_parents(merge, merge)) == []
    between = list(git.between(start, merge))
    assert set(between) == {one, remote.sha("side"), merge}
    assert between[-1] == merge
    assert list(git.between(merge, merge)) == []


def test_a_link_target_is_read_by_its_id(remote: Repo, git: MirrorGit) -> None:
    base = remote.sha("main")
    linked = remote.commit("Link", {"to": Link("/etc/passwd")})
    git.fetch("main", [])
    (change,) = git.changes(base, linked)
    assert git.blob(change.new_id) == b"/etc/passwd"


def test_only_files_at_the_top_change_the_digest(remote: Repo, git: MirrorGit) -> None:
    first = remote.sha("main")
    deep = remote.commit("Deep", {"src/b.txt": "other\n", "new/x": "x\n"})
    top = remote.commit("Top", {"lock": "x\n"})
    git.fetch("main", [])
    assert git.root_files(first) == git.root_files(deep) != git.root_files(top)


def test_a_patch_is_cut_after_a_line(remote: Repo, git: MirrorGit) -> None:
    base = remote.sha("main")
    big = remote.commit("Big", {"big": "0123456789abcde\n" * 40_000})
    git.fetch("main", [])
    patch = git.patch(base, big)
    assert PATCH_BYTES_MAX - 20 < len(patch) <= PATCH_BYTES_MAX
    assert patch.endswith("+0123456789abcde\n")


def test_names_that_some_file_systems_confuse_are_twins(remote: Repo, git: MirrorGit) -> None:
    base = remote.commit("Old twins", {"README": "1\n", "readme": "2\n"})
    names = ("Src/c", "caf\u00e9", "cafe\u0301", "STRASSE", "stra\u00dfe", "plain")
    merged = remote.commit("New twins", dict.fromkeys(names, "x\n"))
    git.fetch("main", [])
    pairs = {frozenset(pair) for pair in git.twins(merged, base)}
    assert pairs == {
        frozenset(("Src", "src")),
        frozenset(("caf\u00e9", "cafe\u0301")),
        frozenset(("STRASSE", "stra\u00dfe")),
    }


def test_a_change_that_adds_nothing_has_no_twins(remote: Repo, git: MirrorGit) -> None:
    base = remote.commit("Old twins", {"README": "1\n", "readme": "2\n"})
    merged = remote.commit("Edit", {"README": "3\n"})
    git.fetch("main", [])
    assert list(git.twins(merged, base)) == []
