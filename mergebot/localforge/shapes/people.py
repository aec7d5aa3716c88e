"""Users, as they appear inside everything else and on their own."""

from typing import Any

from mergebot.localforge import people
from mergebot.localforge.forge import Forge
from mergebot.localforge.store import Row

_LINKS = {
    "following_url": "/following{/other_user}",
    "gists_url": "/gists{/gist_id}",
    "starred_url": "/starred{/owner}{/repo}",
    "events_url": "/events{/privacy}",
    "followers_url": "/followers",
    "subscriptions_url": "/subscriptions",
    "organizations_url": "/orgs",
    "repos_url": "/repos",
    "received_events_url": "/received_events",
}


def user(forge: Forge, row: Row) -> dict[str, Any]:
    """Return a user in brief."""
    url = f"{forge.api}/users/{row['login']}"
    return {
        "login": row["login"],
        "id": row["id"],
        "node_id": f"U_{row['id']}",
        "avatar_url": f"{forge.url}/_forge/avatars/{row['id']}",
        "gravatar_id": "",
        "url": url,
        "html_url": f"{forge.url}/{row['login']}",
        **{name: url + rest for name, rest in _LINKS.items()},
        "type": row["type"],
        "user_view_type": "public",
        "site_admin": bool(row["site_admin"]),
    }


def user_by_id(forge: Forge, user_id: int) -> dict[str, Any]:
    """Return a user in brief, by id; unknown ids are `ghost`."""
    return user(forge, people.by_id(forge.store, user_id))


def profile(forge: Forge, row: Row) -> dict[str, Any]:
    """Return a user in full."""
    unset = ("company", "location", "email", "hireable", "bio", "twitter_username")
    repos = forge.store.count("SELECT count(*) FROM repos WHERE owner_id = ?", row["id"])
    return {
        **user(forge, row),
        "name": row["name"],
        "blog": "",
        **dict.fromkeys(unset),
        "public_repos": repos,
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "created_at": row["created_at"],
        "updated_at": row["created_at"],
    }
