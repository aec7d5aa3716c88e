import threading
from dataclasses import replace
from typing import Any

import pytest

from mergebot.adapters.github.errors import Unclear
from mergebot.adapters.github.forge import GithubForge
from mergebot.adapters.github.values import pushed_at, seconds
from mergebot.domain.ids import Actor
from mergebot.ports.errors import Missing, Unavailable
from mergebot.ports.forge import CheckReport, CheckState, Permission
from tests.contract.github import payloads
from tests.contract.github.scripted import Act, Reply, Reset, Scripted, Seen

COMMENTS = "/repos/o/r/issues/7/comments"
ALICE = Actor(1, "alice")


def paged(server: Scripted, path: str, items: list[dict[str, object]], size: int) -> None:
    """Serve a listing as the forge does, with links that name another address of the same host."""

    def page(seen: Seen) -> Reply:
        number = int(seen.query.get("page", 1))
        shown = items[(number - 1) * size : number * size]
        more = number * size < len(items)
        following = f'<https://elsewhere.test/repositories/5/listing?page={number + 1}>; rel="next"'
        return Reply(200, shown, {"Link": following} if more else {})

    server.run("GET", path, page)
    server.run("GET", "/repositories/5/listing", page)


def test_every_page_of_open_pulls_is_read_one_request_each(
    forge: GithubForge, server: Scripted
) -> None:
    paged(server, "/repos/o/r/pulls", [payloads.pull(n) for n in (3, 1, 2, 3, 5)], 2)
    assert [pull.number for pull in forge.open_pulls("o/r")] == [1, 2, 3, 5]
    assert forge.requests == {"GET": 3}
    assert server.seen[0].query["per_page"] == "100"


def test_a_pull_request_is_read_whole_in_one_request(forge: GithubForge, server: Scripted) -> None:
    server.on("GET", "/repos/o/r/pulls/7", Reply(200, payloads.pull(body="text")))
    pull = forge.pull("o/r", 7)
    assert (pull.author, pull.head, pull.head_branch) == (ALICE, payloads.HEAD, "fix")
    assert (pull.head_repo, pull.base, pull.labels) == ("o/r", "main", ("merge-queue",))
    assert (pull.closed, pull.merged, pull.created_at) == (False, False, 1795953600.0)
    assert forge.requests == {"GET": 1}


def test_a_pull_request_that_is_not_there_is_named(forge: GithubForge, server: Scripted) -> None:
    server.on("GET", "/repos/o/r/pulls/9999", Reply(404, {"message": "Not Found"}))
    with pytest.raises(Missing, match="o/r has no pull request #9999"):
        forge.pull("o/r", 9999)


def test_a_merged_pull_request_of_a_fork_that_is_gone(forge: GithubForge, server: Scripted) -> None:
    head = {"sha": payloads.HEAD, "ref": "fix", "repo": None}
    gone = payloads.pull(
        state="closed", head=head, merged_at="2026-11-29T12:00:00Z", user=None, labels=[]
    )
    server.on("GET", "/repos/o/r/pulls/7", Reply(200, gone))
    pull = forge.pull("o/r", 7)
    assert (pull.closed, pull.merged, pull.head_repo, pull.author.id) == (True, True, "", 0)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"permission": "write", "role_name": "maintain"}, Permission.MAINTAIN),
        ({"permission": "read", "role_name": "triage"}, Permission.TRIAGE),
        ({"permission": "write", "role_name": "release-captain"}, Permission.WRITE),
        ({"permission": "admin"}, Permission.ADMIN),
        ({"permission": "none", "role_name": ""}, Permission.NONE),
        ({"permission": "odd", "role_name": None}, Permission.NONE),
        ({"permission": "admin", "user": {"id": 2, "login": "alice"}}, Permission.NONE),
        ({"permission": "admin", "user": None}, Permission.NONE),
    ],
)
def test_a_permission_belongs_to_a_numeric_id(
    forge: GithubForge, server: Scripted, answer: dict[str, object], expected: Permission
) -> None:
    path = "/repos/o/r/collaborators/alice/permission"
    server.on("GET", path, Reply(200, {"user": payloads.ALICE} | answer))
    assert forge.permission("o/r", ALICE) is expected


def test_somebody_who_is_unknown_may_do_nothing(forge: GithubForge, server: Scripted) -> None:
    assert forge.permission("o/r", Actor(4, "app[bot]")) is Permission.NONE
    assert server.seen[0].path == "/repos/o/r/collaborators/app%5Bbot%5D/permission"


def test_label_events_are_only_those_that_set_a_label_oldest_first(
    forge: GithubForge, server: Scripted
) -> None:
    events = [
        payloads.event(30, "labeled"),
        payloads.event(10, "labeled") | {"actor": None},
        payloads.event(20, "unlabeled"),
        {"id": 5, "event": "closed"},
    ]
    paged(server, "/repos/o/r/issues/7/events", events, 2)
    found = forge.label_events("o/r", 7)
    assert [(each.id, each.actor.id) for each in found] == [(10, 0), (30, 1)]


def test_when_a_head_was_pushed_is_asked_of_the_repository_it_lies_in(
    forge: GithubForge, server: Scripted
) -> None:
    head = {"sha": payloads.HEAD, "ref": "a b/ü", "repo": {"full_name": "fork/r"}}
    server.on("GET", "/repos/o/r/pulls/7", Reply(200, payloads.pull(head=head)))
    moves = [
        {"ref": "refs/heads/main", "timestamp": "2026-11-29T13:00:00Z"},
        {"ref": "refs/heads/a b/ü", "timestamp": "2026-11-29T12:00:00Z"},
    ]
    server.on("GET", "/repos/fork/r/activity", Reply(200, moves))
    assert forge.head_pushed_at("o/r", forge.pull("o/r", 7)) == 1795953600.0
    assert server.seen[-1].query["ref"] == "refs/heads/a b/ü"


def test_a_branch_that_only_its_creation_moved_is_older_than_every_label_of_that_second(
    forge: GithubForge, server: Scripted
) -> None:
    server.on("GET", "/repos/o/r/pulls/7", Reply(200, payloads.pull()))
    pull = forge.pull("o/r", 7)
    at = {"ref": f"refs/heads/{pull.head_branch}", "timestamp": "2026-11-29T12:00:00Z"}
    made, moved = at | {"activity_type": "branch_creation"}, at | {"activity_type": "push"}
    server.on("GET", "/repos/o/r/activity", Reply(200, [made]))
    assert forge.head_pushed_at("o/r", pull) == 1795953599.5
    server.on("GET", "/repos/o/r/activity", Reply(200, [moved, made]))
    assert forge.head_pushed_at("o/r", pull) == 1795953600.0


def test_what_the_bot_did_to_a_branch_and_undid_is_no_push() -> None:
    def move(hour: int, before: str, after: str, who: int) -> dict[str, Any]:
        at = {"ref": "refs/heads/b", "timestamp": f"2026-11-29T0{hour}:00:00Z"}
        return at | {"before": before, "after": after, "actor": {"id": who}}

    there, back = move(5, "h", "m", 9), move(6, "m", "h", 9)
    pushed, made = move(2, "g", "h", 7), move(1, "0", "g", 7)
    at = [pushed_at([back, there, pushed, made], bot=bot) for bot in (9, 8)]
    assert at == [seconds(pushed["timestamp"]), seconds(back["timestamp"])]
    assert pushed_at([there, pushed, made], bot=9) == seconds(there["timestamp"])
    astray = back | {"after": "g"}
    assert pushed_at([astray, there, pushed, made], bot=9) == seconds(back["timestamp"])


def test_a_forge_that_cannot_say_when_a_head_was_pushed_says_none(
    forge: GithubForge, server: Scripted
) -> None:
    server.on("GET", "/repos/o/r/pulls/7", Reply(200, payloads.pull()))
    pull = forge.pull("o/r", 7)
    assert forge.head_pushed_at("o/r", pull) is None
    assert forge.head_pushed_at("o/r", replace(pull, head_repo="")) is None
    server.on("GET", "/repos/o/r/activity", Reply(200, []))
    assert forge.head_pushed_at("o/r", pull) is None


def test_an_approval_counts_while_it_stands_on_the_head_and_its_giver_may_write(
    forge: GithubForge, server: Scripted
) -> None:
    reviews = [
        payloads.review(2, "APPROVED"),
        payloads.review(2, "COMMENTED"),
        payloads.review(3, "APPROVED", payloads.BASE),
        payloads.review(4, "APPROVED"),
        payloads.review(4, "CHANGES_REQUESTED"),
        payloads.review(5, "DISMISSED"),
        payloads.review(6, "APPROVED"),
        payloads.review(1, "APPROVED"),
    ]
    server.on(
        "GET", "/repos/o/r/pulls/7", Reply(200, payloads.pull(user=payloads.review(1, "")["user"]))
    )
    server.on("GET", "/repos/o/r/pulls/7/reviews", Reply(200, reviews))
    for number, role in ((2, "write"), (6, "read")):
        answer = {"permission": role, "user": payloads.review(number, "")["user"]}
        server.on("GET", f"/repos/o/r/collaborators/user{number}/permission", Reply(200, answer))
    assert forge.approvals("o/r", 7) == 1


@pytest.mark.parametrize("lost", [Reply(502), Reply(201, b"<html>"), Reply(201, {}), Reset()])
def test_a_comment_whose_answer_was_lost_is_found_again(
    forge: GithubForge, server: Scripted, lost: Act
) -> None:
    kept = [payloads.comment(1, "text", payloads.ALICE), payloads.comment(2, "other")]

    def write(seen: Seen) -> Act:
        kept.append(payloads.comment(3, seen.content["body"].replace("\n", "\r\n").strip()))
        return lost

    server.run("POST", COMMENTS, write)
    server.run("GET", COMMENTS, lambda _: Reply(200, kept))
    server.on("GET", "/user", Reply(200, payloads.BOT))
    assert forge.add_comment("o/r", 7, "text\nof two lines\n") == 3
    assert len(server.asked("POST")) == 1


def test_a_comment_that_arrives_late_is_not_written_twice(
    forge: GithubForge, server: Scripted
) -> None:
    server.on("POST", COMMENTS, Reply(504))
    server.on("GET", COMMENTS, Reply(200, []), Reply(200, [payloads.comment(3, "text")]))
    server.on("GET", "/user", Reply(200, payloads.BOT))
    with pytest.raises(Unclear):
        forge.add_comment("o/r", 7, "text")
    assert forge.add_comment("o/r", 7, "text") == 3
    assert len(server.asked("POST")) == 1


def test_a_comment_that_was_never_written_is_written_at_the_next_try(
    forge: GithubForge, server: Scripted
) -> None:
    server.on("POST", COMMENTS, Reply(504), Reply(201, payloads.comment(4, "text")))
    server.on("GET", COMMENTS, Reply(200, [payloads.comment(3, "text", payloads.ALICE)]))
    server.on("GET", "/user", Reply(200, payloads.BOT))
    with pytest.raises(Unavailable):
        forge.add_comment("o/r", 7, "text")
    assert forge.add_comment("o/r", 7, "text") == 4
    assert forge.requests == {"POST": 2, "GET": 3}


def test_a_comment_costs_one_request(forge: GithubForge, server: Scripted) -> None:
    server.on("POST", COMMENTS, Reply(201, payloads.comment(4, "text")))
    assert forge.add_comment("o/r", 7, "text") == 4
    assert forge.requests == {"POST": 1}


def test_labels_are_touched_on_the_pull_request_only(forge: GithubForge, server: Scripted) -> None:
    server.on("POST", "/repos/o/r/issues/7/labels", Reply(200, []))
    server.on("DELETE", "/repos/o/r/issues/7/labels/a%2Fb%20c", Reply(200, []))
    forge.add_label("o/r", 7, "a/b c")
    forge.remove_label("o/r", 7, "a/b c")
    forge.remove_label("o/r", 7, "not there")
    assert server.seen[0].content == {"labels": ["a/b c"]}
    assert all(seen.path.startswith("/repos/o/r/issues/7/labels") for seen in server.seen)


def test_a_token_reports_as_a_commit_status(forge: GithubForge, server: Scripted) -> None:
    path = f"/repos/o/r/statuses/{payloads.HEAD}"
    server.on("POST", path, Reply(201, {}))
    head = payloads.HEAD
    forge.report("o/r", CheckReport(head, CheckState.FAILURE, "x\n" * 200, "", "https://q/7"))
    forge.report("o/r", CheckReport(head, CheckState.NEUTRAL, "held", "summary", ""))
    first, second = (seen.content for seen in server.seen)
    assert (first["context"], first["state"], first["target_url"]) == (
        "mergebot",
        "failure",
        "https://q/7",
    )
    assert len(first["description"]) == 140
    assert second == {"context": "mergebot", "state": "pending", "description": "held"}


def test_the_bots_account_is_asked_for_once(forge: GithubForge, server: Scripted) -> None:
    server.on("GET", "/user", Reply(200, payloads.BOT))
    assert forge.me() == forge.me() == Actor(99, "mergebot")
    assert forge.requests == {"GET": 1}
    seen = server.seen[0].headers
    assert seen["authorization"] == "Bearer pat-1"
    assert (seen["x-github-api-version"], seen["user-agent"]) == ("2022-11-28", "mergebot")


def test_a_callers_token_is_used_for_that_question_alone(
    forge: GithubForge, server: Scripted
) -> None:
    server.on("GET", "/user", Reply(200, payloads.ALICE))
    assert forge.caller("hers") == ALICE
    forge.permission("o/r", ALICE)
    used = [seen.headers["authorization"] for seen in server.seen]
    assert used == ["Bearer hers", "Bearer pat-1"]


def test_threads_do_not_mix_their_requests(forge: GithubForge, server: Scripted) -> None:
    wrong: list[int] = []

    def work(start: int) -> None:
        for number in range(start, start + 25):
            body = f"text {number}"
            if forge.add_comment("o/r", number, body) != number:
                wrong.append(number)

    def answer(seen: Seen) -> Reply:
        number = int(seen.path.split("/")[5])
        assert seen.content == {"body": f"text {number}"}
        return Reply(201, payloads.comment(number, ""))

    for number in range(1, 201):
        server.run("POST", f"/repos/o/r/issues/{number}/comments", answer)
    threads = [threading.Thread(target=work, args=(1 + 25 * n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert forge.requests == {"POST": 200}
