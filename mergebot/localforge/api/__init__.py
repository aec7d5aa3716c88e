"""The REST resources, one room each; importing a room enters its handlers into the table."""

from importlib import import_module

ROOMS = (
    "apps",
    "branches",
    "checks",
    "comments",
    "gitdata",
    "graphql",
    "hooks",
    "issues",
    "labels",
    "manifests",
    "merges",
    "operator",
    "pulls",
    "pushing",
    "refs",
    "repos",
    "reviews",
    "rulesets",
    "signing",
    "statuses",
    "users",
)


def load() -> None:
    """Fill the table of endpoints."""
    for room in ROOMS:
        import_module(f"{__name__}.{room}")
