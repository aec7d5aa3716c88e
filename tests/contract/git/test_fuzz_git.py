"""What git prints of names and contents that people chose: arbitrary ones, with real git to print."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mergebot.adapters.git.command import GitDir, one_line
from mergebot.adapters.git.objects import batch, changes, path_text
from mergebot.adapters.git.porcelain import Fate, parse, refusal
from mergebot.adapters.git.process import Answer
from tests.contract.git.scenes import mirror_of
from tests.support.gitrepo import Repo

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
SEGMENT = st.binary(min_size=1, max_size=6).filter(lambda raw: not {0, 47} & set(raw))
NAMES = SEGMENT.filter(lambda raw: raw not in {b".", b".."} and raw.lower() != b".git")
LETTERS = st.characters(
    codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters=" ~^:?*[\\/.@\x7f"
)
BRANCHES = st.text(LETTERS | st.sampled_from("\x85\u2028\u2029"), min_size=1, max_size=6)


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return Repo.init(tmp_path_factory.mktemp("fuzz") / "repo.git")


@given(files=st.dictionaries(NAMES, st.binary(max_size=20), max_size=4))
def test_every_path_of_a_diff_is_read_byte_for_byte(repo: Repo, files: Mapping[bytes, bytes]) -> None:  # fmt: skip
    rows = b"".join(
        b"100644 blob " + blob(repo, content).encode() + b"\t" + name + b"\0"
        for name, content in files.items()
    )
    tree = repo.git("mktree", "-z", stdin=rows)
    found = changes(GitDir(repo.path), EMPTY_TREE, tree)
    assert {each.path for each in found} == {path_text(name) for name in files}
    assert all(each.new_mode == "100644" for each in found)


def blob(repo: Repo, content: bytes) -> str:
    return repo.git("hash-object", "-w", "--stdin", stdin=content)


@given(contents=st.lists(st.binary(max_size=60), min_size=1, max_size=4))
def test_objects_of_any_bytes_come_back_whole_beside_missing_ones(
    repo: Repo, contents: list[bytes]
) -> None:
    names = [name for each in contents for name in (blob(repo, each), "0" * 40)]
    found = batch(GitDir(repo.path), names)
    assert [content for _, kind, content in found if kind] == contents
    assert [name for name, kind, _ in found if not kind] == ["0" * 40] * len(contents)


@given(names=st.sets(BRANCHES, max_size=4))
def test_every_branch_of_the_remote_is_listed_under_its_own_name(
    tmp_path_factory: pytest.TempPathFactory, names: set[str]
) -> None:
    root = tmp_path_factory.mktemp("listed")
    remote = Repo.init(root / "origin.git")
    sha = remote.commit("Start", {"a": "1\n"})
    orders = "".join(f"create refs/heads/x/{name} {sha}\n" for name in names)
    remote.git("update-ref", "--stdin", stdin=orders.encode())
    listed = mirror_of(remote.url, root / "mirrors").branches()
    assert listed == {"main": sha} | {f"x/{name}": sha for name in names}


@given(said=st.binary(max_size=200), complaint=st.text(max_size=200))
def test_whatever_a_push_says_is_one_printable_line_for_people(said: bytes, complaint: str) -> None:
    answer = Answer(1, said, f"remote: {complaint}", cut=False)
    rows = parse(answer)
    for each in (one_line(complaint), *(refusal(answer, row) for row in rows.values())):
        assert "\n" not in each
    assert one_line(complaint).isprintable()
    assert all(isinstance(row.fate, Fate) for row in rows.values())
