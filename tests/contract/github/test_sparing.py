"""What the adapter spares the forge: answers that did not change, limits that another one hit."""

import pytest

from mergebot.adapters.github.auth import TokenCredentials
from mergebot.adapters.github.client import Client, Server
from mergebot.adapters.github.errors import Ask
from mergebot.adapters.github.forge import GithubForge
from mergebot.adapters.github.shelf import OwnShelf, Safe, Tagged, Tags
from mergebot.adapters.redact import Redactor
from mergebot.ports.errors import Unavailable
from tests.contract.github import payloads
from tests.contract.github.scripted import Reply, Scripted

READ = Ask("GET", "/thing", "read the thing")
WRITE = Ask("POST", "/thing", "change the thing", body={})


def client(server: Scripted, shelf: OwnShelf, token: str = "pat-1") -> Client:
    return Client(Server(Redactor(), server.url, timeout_s=1, shelf=shelf), TokenCredentials(token))


def test_what_did_not_change_is_read_for_free_by_any_process(server: Scripted) -> None:
    fresh = Reply(200, {"a": 1}, {"ETag": 'W/"1"'})
    server.on("GET", "/thing", fresh, Reply(304, None))
    shelf = OwnShelf()
    assert client(server, shelf).send(READ) == {"a": 1}
    assert client(server, shelf).send(READ) == {"a": 1}
    assert [each.headers.get("if-none-match") for each in server.seen] == [None, 'W/"1"']


def test_an_answer_is_kept_for_nobody_else(server: Scripted) -> None:
    server.on("GET", "/thing", Reply(200, {"a": 1}, {"ETag": 'W/"1"'}))
    shelf = OwnShelf()
    client(server, shelf).send(READ)
    client(server, shelf, "pat-2").send(READ)
    assert [each.headers.get("if-none-match") for each in server.seen] == [None, None]


def test_an_answer_that_somebody_wrote_into_the_shelf_is_not_believed() -> None:
    shelf = OwnShelf()
    Tags(shelf).keep("pat-1", "/thing?{}", Tagged('W/"1"', '{"a":1}', ""))
    (name,) = shelf._kept
    seal, _, text = (shelf.get(name) or "").partition(" ")
    shelf.put(name, f"{seal} {text.replace('1', '2')}", 60.0)
    assert Tags(shelf).find("pat-1", "/thing?{}") is None


def test_a_token_on_the_shelf_opens_with_the_key_of_the_app_alone() -> None:
    shelf = OwnShelf()
    Safe(shelf, "key").put("token", "ghs_secret", 60.0)
    assert "ghs_secret" not in str(shelf._kept)
    assert Safe(shelf, "key").get("token") == "ghs_secret"
    assert Safe(shelf, "other").get("token") is None


def test_a_limit_that_one_process_hit_keeps_the_others_quiet(server: Scripted) -> None:
    limited = Reply(
        403, {"message": "You have exceeded a secondary rate limit."}, {"Retry-After": "30"}
    )
    server.on("POST", "/thing", limited)
    shelf = OwnShelf()
    with pytest.raises(Unavailable):
        client(server, shelf).send(WRITE)
    with pytest.raises(Unavailable) as told:
        client(server, shelf).send(READ)
    assert 0 < told.value.retry_after_s <= 30
    assert len(server.seen) == 1


def test_the_last_request_of_the_hour_is_followed_by_none(server: Scripted) -> None:
    last = Reply(200, {}, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9999999999"})
    server.on("GET", "/thing", last)
    mine = client(server, OwnShelf())
    assert mine.send(READ) == {}
    with pytest.raises(Unavailable, match="slow down"):
        mine.send(READ)
    assert len(server.seen) == 1


COMMENTS = "/repos/o/r/issues/7/comments"


def silent(server: Scripted, forge: GithubForge, comments: int) -> None:
    server.on("GET", "/user", Reply(200, payloads.BOT))
    server.on("GET", "/repos/o/r/pulls/7", Reply(200, payloads.pull(comments=comments)))
    server.on("GET", COMMENTS, Reply(200, [payloads.comment(5, "Mine"), other(6)]))
    server.on("POST", COMMENTS, Reply(201, payloads.comment(5, "Mine")))
    forge.pull("o/r", 7)


def other(number: int) -> dict[str, object]:
    return payloads.comment(number, "Theirs", payloads.ALICE)


def listings(server: Scripted) -> int:
    return sum((each.method, each.path) == ("GET", COMMENTS) for each in server.seen)


def test_nobody_looks_for_the_bots_comment_where_nobody_has_commented(
    server: Scripted, forge: GithubForge
) -> None:
    silent(server, forge, comments=0)
    assert forge.own_comments("o/r", 7) == []
    assert listings(server) == 0


def test_the_bots_comment_is_looked_for_once_it_or_anybody_has_written(
    server: Scripted, forge: GithubForge
) -> None:
    silent(server, forge, comments=0)
    forge.add_comment("o/r", 7, "Mine")
    assert [each.id for each in forge.own_comments("o/r", 7)] == [5]
    silent(server, forge, comments=2)
    assert [each.id for each in forge.own_comments("o/r", 7)] == [5]
    assert listings(server) == 2


def test_what_everybody_wrote_is_always_read_from_the_forge(
    server: Scripted, forge: GithubForge
) -> None:
    silent(server, forge, comments=0)
    assert [each.id for each in forge.comments("o/r", 7)] == [5, 6]
