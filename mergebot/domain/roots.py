"""An index of names by the literal beginnings of their patterns.

Two patterns can only share a path where one's literal beginning starts the other's, so a question
looks at the names along its own beginning and below it, and at no others. It is never changed in
place: a change copies the few nodes on its way.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

Root = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Roots:
    """One folder of the index: the names whose pattern's beginning ends here, and those below."""

    here: frozenset[str] = frozenset()
    below: Mapping[str, "Roots"] = field(default_factory=dict)

    def near(self, root: Root) -> Iterator[str]:
        """Yield each name whose beginning starts `root` or is started by it; some more than once."""
        at: Roots | None = self
        for segment in root:
            if at is None:
                return
            yield from at.here
            at = at.below.get(segment)
        if at is not None:
            yield from at.all()

    def all(self) -> Iterator[str]:
        """Yield every name at or below this folder."""
        yield from self.here
        for folder in self.below.values():
            yield from folder.all()

    def add(self, roots: Sequence[Root], name: str) -> "Roots":
        """Return the index with `name` under each of `roots`."""
        index = self
        for root in roots:
            index = _put(index, root, name)
        return index

    def drop(self, roots: Sequence[Root], name: str) -> "Roots":
        """Return the index without `name` under any of `roots`."""
        index = self
        for root in roots:
            index = _take(index, root, name)
        return index


def _put(index: Roots, root: Root, name: str) -> Roots:
    if not root:
        return replace(index, here=index.here | {name})
    below = dict(index.below)
    below[root[0]] = _put(below.get(root[0], Roots()), root[1:], name)
    return replace(index, below=below)


def _take(index: Roots, root: Root, name: str) -> Roots:
    if not root:
        return replace(index, here=index.here - {name})
    child = index.below.get(root[0])
    if child is None:
        return index
    below = dict(index.below)
    left = _take(child, root[1:], name)
    if left.here or left.below:
        below[root[0]] = left
    else:
        del below[root[0]]
    return replace(index, below=below)
