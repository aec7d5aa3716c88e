"""Pull requests as rows: each with the title, body and state of its issue."""

from mergebot.localforge.errors import not_found
from mergebot.localforge.store import Row, Store

PULL = (
    "SELECT issues.title, issues.body, issues.state, issues.user_id, issues.created_at,"
    " issues.updated_at, issues.closed_at, issues.closed_by, pulls.* FROM pulls"
    " JOIN issues ON issues.id = issue_id "
)


def find(store: Store, repo: Row, number: int) -> Row | None:
    """Return a pull request by its number, or None."""
    return store.one(PULL + "WHERE pulls.repo_id = ? AND pulls.number = ?", repo["id"], number)


def get(store: Store, repo: Row, number: int) -> Row:
    """Return a pull request by its number; refuse when there is none."""
    row = find(store, repo, number)
    if row is None:
        raise not_found()
    return row


def by_id(store: Store, pull_id: int) -> Row | None:
    """Return a pull request by its id, or None."""
    return store.one(PULL + "WHERE pulls.id = ?", pull_id)


def open_from(store: Store, head_repo_id: int, head_ref: str) -> list[Row]:
    """Return the open pull requests whose head is a branch."""
    return store.all(
        PULL + "WHERE head_repo_id = ? AND head_ref = ? AND issues.state = 'open' ORDER BY number",
        *(head_repo_id, head_ref),
    )


def open_onto(store: Store, repo: Row, base_ref: str) -> list[Row]:
    """Return the open pull requests whose base is a branch."""
    return store.all(
        PULL + "WHERE pulls.repo_id = ? AND base_ref = ? AND issues.state = 'open'"
        " ORDER BY pulls.number",
        *(repo["id"], base_ref),
    )
