"""What people propose: each kind of change is a branch with its own way to fare in the queue."""

from dataclasses import dataclass
from random import Random

from mergebot.adapters.memory.hosting import Draft
from mergebot.adapters.memory.objects import Tree
from mergebot.adapters.memory.remote import Remote
from mergebot.domain.ids import Sha
from mergebot.domain.limits import CHANGED_PATHS_MAX
from tests.simulation.rulebook import rules

KINDS = (
    *("plain",) * 6,
    *("edit",) * 2,
    *("bad",) * 2,
    *("left", "right") * 2,
    *("slow", "stray", "broken_claim", "claimed", "protected", "rules", "broken_rules"),
    *("evil_merge", "nothing", "twin", "forbidden", "fork", "two_commits"),
)
HUGE = 0.0015
"""How often a change is larger than any may be; a whole one takes half a second."""


@dataclass(frozen=True, slots=True)
class Change:
    """A branch ready to be proposed, and what its pull request says."""

    kind: str
    head: Sha
    draft: Draft


def claim(task: str, *patterns: str) -> str:
    """Return the claim block of a task over `patterns`."""
    listed = ", ".join(f'"{pattern}"' for pattern in patterns)
    return f'```mergebot\ntask = "{task}"\nclaims = [{listed}]\n```\n'


def any_kind(rng: Random) -> str:
    """Return a kind of change, by chance."""
    return "huge" if rng.random() < HUGE else rng.choice(KINDS)


def make(rng: Random, remote: Remote, kind: str, name: str) -> Change:
    """Return a change of `kind` on the trunk's present tip; `name` tells it from all others."""
    tip = Sha(str(remote.head("main")))
    tree = dict(remote.objects.commit(tip).tree)
    edits, body = _edits(rng, kind, name, tree)
    if kind == "two_commits":
        tip = remote.commit({**tree, f"first-{name}": name}, f"First of {name}", tip)
        edits = {**edits, f"first-{name}": name}
    head = remote.commit(_edited(tree, edits), f"Change {name}", tip)
    if kind == "evil_merge":
        side = remote.commit({**tree, f"side-{name}": name}, f"Side of {name}", tip)
        evil = {**remote.objects.commit(head).tree, f"side-{name}": name, f"evil-{name}": name}
        head = remote.commit(evil, f"Merge of {name}", head, side)
    repo = "else/repo" if kind == "fork" else ""
    return Change(kind, head, Draft(f"Change {name}", f"branch-{name}", body=body, head_repo=repo))


def repair(remote: Remote, name: str) -> Change:
    """Return a change that makes any trunk green."""
    tip = Sha(str(remote.head("main")))
    head = remote.commit(_mended(remote.objects.commit(tip).tree, name), f"Repair {name}", tip)
    return Change("repair", head, Draft(f"Repair {name}", f"branch-{name}"))


def mended(remote: Remote, tip: Sha, name: str) -> Sha:
    """Return a commit on `tip` that has nothing red in it."""
    return remote.commit(_mended(remote.objects.commit(tip).tree, name), f"Mend {name}", tip)


def _mended(tree: Tree, name: str) -> Tree:
    kept = {path: text for path, text in tree.items() if not path.startswith(("bad", "slow"))}
    kept.pop("right", None)
    return {**kept, f"repair-{name}": name}


def _edits(rng: Random, kind: str, name: str, tree: Tree) -> tuple[dict[str, str | None], str]:
    own = f"file-{name}"
    broken = tree[".mergebot.toml"] + f"\n[wrong-{name}]\n"
    known: dict[str, tuple[dict[str, str | None], str]] = {
        "edit": ({"app": name}, claim(name, "app")),
        "bad": ({f"bad-{name}": name}, claim(name, f"bad-{name}")),
        "slow": ({f"slow-{name}": name}, claim(name, f"slow-{name}")),
        "left": ({"left": "here"}, claim(name, "left")),
        "right": ({"right": "here"}, claim(name, "right")),
        "stray": ({own: name, "elsewhere": name}, claim(name, own)),
        "broken_claim": ({own: name}, "```mergebot\nclaims = 7\n```\n"),
        "protected": ({".github/workflow": name}, claim(name, own, ".github/**")),
        "rules": ({".mergebot.toml": rules(rng)}, claim(name, ".mergebot.toml")),
        "broken_rules": ({".mergebot.toml": broken}, claim(name, ".mergebot.toml")),
        "nothing": ({}, ""),
        "twin": ({"twin": "the same"}, claim(name, "twin")),
        "forbidden": ({f"-{name}": name}, ""),
        "claimed": ({own: name}, claim(name, own)),
    }
    if kind == "huge":
        return {f"{own}-{number}": name for number in range(CHANGED_PATHS_MAX + 1)}, ""
    return known.get(kind) or ({own: name}, rng.choice(("", claim(name, own, f"*-{name}"))))


def _edited(tree: Tree, edits: dict[str, str | None]) -> Tree:
    merged = {**tree, **edits}
    return {path: content for path, content in merged.items() if content is not None}
