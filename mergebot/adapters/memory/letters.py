"""Letters of a few lines: what identifies a notice and its one sentence."""

from collections.abc import Mapping


class PlainLetters:
    """Renders a notice as its hidden lines and its headline, whatever its template says."""

    def render(self, name: str, facts: Mapping[str, object]) -> str:
        """Return the notice called `name`."""
        parts = [facts[key] for key in ("hidden", "marker", "headline", "text") if key in facts]
        return "\n".join([*map(str, parts), f"({name})"])
