"""Replays whose commits mergebot signs: the same on every host, and git itself verifies them."""

from pathlib import Path

import pytest

from mergebot.adapters.commit_key import open_commit_key
from mergebot.adapters.git.committer import Committer
from mergebot.adapters.git.mirrors import GitMirrors, MirrorGit
from mergebot.domain.policy import Method
from mergebot.ports.errors import Refused
from tests.contract.git.scenes import TOKEN, landable, proposed, repository
from tests.support.gitrepo import Repo
from tests.support.signing import SshKey

EMAIL = "7+queuebot@users.noreply.example.org"
WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
EVERY_METHOD = pytest.mark.parametrize("method", list(Method))


@pytest.fixture
def key(tmp_path: Path) -> SshKey:
    return SshKey.made(tmp_path / "commit-key")


def signing(remote: Repo, root: Path, key: SshKey) -> MirrorGit:
    committer = Committer(EMAIL, open_commit_key(key.path))
    mirrors = GitMirrors(root, lambda: TOKEN, ("file",), committer)
    return mirrors.of(repository(remote.url))


@EVERY_METHOD
def test_two_hosts_with_one_key_compute_the_same_signed_commit(
    remote: Repo, tmp_path: Path, key: SshKey, method: Method
) -> None:
    proposed(remote, {"new.txt": "1\n"}, {"new.txt": "2\n"})
    base = remote.commit("Meanwhile", {"other.txt": "o\n"})
    hosts = [signing(remote, tmp_path / name, key) for name in "ab"]
    one, other = (landable(each, method) for each in hosts)
    assert one == other
    for sha in hosts[0].first_parents(base, one.merge.merged):
        assert key.verifies(hosts[0].local.path, sha, EMAIL)


def test_another_key_signs_another_commit(remote: Repo, tmp_path: Path, key: SshKey) -> None:
    proposed(remote, {"new.txt": "1\n"})
    remote.commit("Meanwhile", {"other.txt": "o\n"})
    other = SshKey.made(tmp_path / "other-key")
    one, two = (
        landable(signing(remote, tmp_path / f"by-{each.path.stem}", each)).merge
        for each in (key, other)
    )
    assert one.tree == two.tree
    assert one.merged != two.merged


def test_all_that_a_signed_commit_says_is_what_an_unsigned_one_says(
    remote: Repo, git: MirrorGit, tmp_path: Path, key: SshKey
) -> None:
    proposed(remote, {"new.txt": "1\n"})
    remote.commit("Meanwhile", {"other.txt": "o\n"})
    by = signing(remote, tmp_path / "signing", key)
    signed = by.local.run("cat-file", "commit", landable(by).merge.merged).out.decode()
    plain = git.local.run("cat-file", "commit", landable(git).merge.merged).out.decode()
    head, _, rest = signed.partition("\ngpgsig -----BEGIN SSH SIGNATURE-----\n")
    bare = head + "\n\n" + rest.partition("\n -----END SSH SIGNATURE-----\n\n")[2]
    assert bare.replace(EMAIL, "mergebot@users.noreply.github.com") == plain


def test_a_head_ahead_of_the_trunk_keeps_its_authors_signatures(
    remote: Repo, tmp_path: Path, key: SshKey
) -> None:
    author = SshKey.made(tmp_path / "author-key")
    head = proposed(remote, {"n": "1\n"})
    own = author_signed(remote, head, author)
    remote.pull(7, own)
    assert landable(signing(remote, tmp_path / "m", key)).merge.merged == own


def author_signed(remote: Repo, head: str, author: SshKey) -> str:
    """Return a commit as `head`, signed by its author."""
    options = (*WHO, "-c", "gpg.format=ssh", "-c", f"user.signingKey={author.path}")
    tree = f"{head}^{{tree}}"
    return remote.git(*options, "commit-tree", "-S", "-p", f"{head}^", "-m", "Signed", tree)


def test_a_head_ahead_of_the_trunk_that_nobody_signed_is_made_anew_and_signed(
    remote: Repo, tmp_path: Path, key: SshKey
) -> None:
    head = proposed(remote, {"n": "1\n"}, {"n": "2\n"})
    by = signing(remote, tmp_path / "m", key)
    result = landable(by)
    assert (result.commits, result.merge.tree) == (2, by.tree(head))
    for sha in by.first_parents(result.merge.base, result.merge.merged):
        assert key.verifies(by.local.path, sha, EMAIL)


def test_one_commit_without_a_signature_has_the_whole_line_made_anew(
    remote: Repo, tmp_path: Path, key: SshKey
) -> None:
    author = SshKey.made(tmp_path / "author-key")
    first = author_signed(remote, proposed(remote, {"n": "1\n"}), author)
    second = remote.git(*WHO, "commit-tree", "-p", first, "-m", "Two", f"{first}^{{tree}}")
    remote.pull(7, second)
    by = signing(remote, tmp_path / "m", key)
    result = landable(by)
    assert first not in by.first_parents(result.merge.base, result.merge.merged)


@pytest.mark.parametrize(
    ("kind", "passphrase", "mode", "word"),
    [
        ("ed25519", "secret", 0o600, "open without a passphrase"),
        ("ecdsa", "", 0o600, "holds no Ed25519 key"),
        ("ed25519", "", 0o644, "chmod 600"),
    ],
)
def test_a_key_that_cannot_sign_is_refused_in_one_sentence(
    tmp_path: Path, kind: str, passphrase: str, mode: int, word: str
) -> None:
    made = SshKey.made(tmp_path / "key", kind, passphrase)
    made.path.chmod(mode)
    with pytest.raises(Refused, match=word):
        open_commit_key(made.path)
