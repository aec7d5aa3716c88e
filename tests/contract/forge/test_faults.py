import time
from collections.abc import Callable

import pytest
import requests

from tests.support.forge import ForgeProcess, Work

Opened = Callable[[str], int]


def comments(forge: ForgeProcess, name: str) -> int:
    return len(forge.call("GET", f"/repos/{name}/issues/1/comments").json())


def test_an_error_before_changes_nothing(forge: ForgeProcess, name: str, opened: Opened) -> None:
    opened("topic")
    forge.fault("error_before", method="POST", path="/comments", status=503, times=1)

    answers = [
        forge.call("POST", f"/repos/{name}/issues/1/comments", {"body": "x"}).status_code
        for _ in range(2)
    ]

    assert (answers, comments(forge, name)) == ([503, 201], 1)


@pytest.mark.parametrize("status", [502, 504])
def test_an_error_after_has_had_its_effect(
    forge: ForgeProcess, name: str, opened: Opened, status: int
) -> None:
    opened("topic")
    forge.fault("error_after", method="POST", path="/comments", status=status, times=1)

    answer = forge.call("POST", f"/repos/{name}/issues/1/comments", {"body": "x"})

    assert (answer.status_code, comments(forge, name)) == (status, 1)


def test_a_connection_may_be_reset_after_the_effect(
    forge: ForgeProcess, name: str, opened: Opened
) -> None:
    opened("topic")
    forge.fault("error_after", method="POST", path="/comments", status="reset", times=1)

    with pytest.raises(requests.ConnectionError):
        forge.call("POST", f"/repos/{name}/issues/1/comments", {"body": "x"})

    assert comments(forge, name) == 1


def test_a_push_may_happen_and_still_be_answered_with_an_error(
    work: Work, forge: ForgeProcess
) -> None:
    head = work.commit("Change", {"file": "text"})
    forge.fault("error_after", method="POST", path="git-receive-pack", status=502, times=1)

    done = work.push("HEAD:refs/heads/topic", check=0)

    assert done.code != 0
    assert work.git("ls-remote", "origin", "refs/heads/topic").out.startswith(head)


@pytest.mark.parametrize(("status", "retry_after"), [(403, None), (403, 7), (429, 3), (429, None)])
def test_rate_limits_come_with_and_without_a_hint(
    forge: ForgeProcess, name: str, status: int, retry_after: int | None
) -> None:
    rule = {} if retry_after is None else {"retry_after": retry_after}
    forge.fault("rate_limit", path=f"/repos/{name}", status=status, times=1, **rule)

    answer = forge.call("GET", f"/repos/{name}")

    assert answer.status_code == status
    assert answer.headers.get("Retry-After") == (str(retry_after) if retry_after else None)
    assert "rate limit" in answer.json()["message"]


def test_a_ref_may_be_seen_stale(forge: ForgeProcess, name: str, work: Work) -> None:
    old = work.head()
    rule = forge.fault("stale_refs", path="refs/heads/main", seconds=60)
    new = work.commit("Change", {"file": "text"})
    work.push("-q", "HEAD:refs/heads/main")

    stale = forge.call("GET", f"/repos/{name}/git/ref/heads/main").json()["object"]["sha"]
    forge.call("DELETE", f"/_forge/faults/{rule}")
    fresh = forge.call("GET", f"/repos/{name}/git/ref/heads/main").json()["object"]["sha"]

    assert (stale, fresh) == (old, new)


def test_a_delay_holds_an_answer_back(forge: ForgeProcess, name: str) -> None:
    forge.fault("delay_s", path=f"/repos/{name}", seconds=0.3, times=1)

    started = time.monotonic()
    forge.call("GET", f"/repos/{name}")

    assert time.monotonic() - started >= 0.3


def test_rules_are_listed_and_only_the_admin_may_make_them(forge: ForgeProcess) -> None:
    forge.fault("delay_s", path="/nowhere", seconds=1, times=2)

    listed = forge.call("GET", "/_forge/faults").json()
    refused = forge.call("POST", "/_forge/faults", {"kind": "delay_s"}, token=forge.user("alice"))
    unknown = forge.call("POST", "/_forge/faults", {"kind": "gremlin"})

    assert [(r["kind"], r["times"], r["seconds"]) for r in listed] == [("delay_s", 2, 1)]
    assert (refused.status_code, unknown.status_code) == (404, 422)
