"""Merging by the forge itself: the merge button's three methods, and merges of branches."""

from dataclasses import dataclass

from mergebot.localforge.git import Bare
from mergebot.localforge.shapes.commits import Commit, log


class ConflictError(Exception):
    """Two sides change the same lines."""


@dataclass(frozen=True, slots=True)
class Author:
    """Who a commit made by the forge is by."""

    name: str
    email: str

    def env(self) -> dict[str, str]:
        """Return git's environment for a commit by this author."""
        return {
            "GIT_AUTHOR_NAME": self.name,
            "GIT_AUTHOR_EMAIL": self.email,
            "GIT_COMMITTER_NAME": "GitHub",
            "GIT_COMMITTER_EMAIL": "noreply@github.com",
        }


def tree_of_merge(bare: Bare, ours: str, theirs: str) -> str:
    """Return the tree of a merge; raise ConflictError where it conflicts."""
    answer = bare.ask("merge-tree", "--write-tree", "--no-messages", ours, theirs)
    if answer.code:
        raise ConflictError
    return answer.text.split("\n", 1)[0]


def commit_tree(
    bare: Bare, tree: str, parents: list[str], message: str, env: dict[str, str]
) -> str:
    """Write a commit object and return its SHA."""
    options = [part for parent in parents for part in ("-p", parent)]
    return bare.run("commit-tree", tree, *options, stdin=message.encode(), env=env).strip()


def merge(bare: Bare, base: str, head: str, *, message: str, author: Author) -> str:
    """Return a merge commit of head into base."""
    tree = tree_of_merge(bare, base, head)
    return commit_tree(bare, tree, [base, head], message, author.env())


def squash(bare: Bare, base: str, head: str, *, message: str, author: Author) -> str:
    """Return one commit on base that has everything of head."""
    tree = tree_of_merge(bare, base, head)
    return commit_tree(bare, tree, [base], message, author.env())


def rebase(bare: Bare, base: str, head: str) -> str:
    """Return the last of the head's commits, each replayed on base."""
    tip = base
    for commit in log(bare, "--reverse", "--no-merges", f"{base}..{head}"):
        tip = _replay(bare, tip, commit)
    return tip


def _replay(bare: Bare, onto: str, commit: Commit) -> str:
    parent = commit.parents[0] if commit.parents else onto
    author = Author(commit.author["name"], commit.author["email"])
    env = author.env() | {"GIT_AUTHOR_DATE": commit.author["date"]}
    # git 2.39 has no --merge-base; a stand-in commit with the right parent gives the same merge.
    stand_in = commit_tree(bare, f"{onto}^{{tree}}", [parent], "replay", env)
    tree = tree_of_merge(bare, stand_in, commit.sha)
    return commit_tree(bare, tree, [onto], commit.message, env)
