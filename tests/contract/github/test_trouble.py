import pytest

from mergebot.adapters.github.auth import TokenCredentials
from mergebot.adapters.github.client import Server
from mergebot.adapters.github.errors import Unclear
from mergebot.adapters.github.forge import GithubForge
from mergebot.adapters.redact import Redactor
from mergebot.ports.errors import Missing, Refused, Unavailable
from tests.contract.github import payloads
from tests.contract.github.scripted import Reply, Reset, Scripted, Silence

PULL = "/repos/o/r/pulls/7"
ODD = Reply(200, {}, {"X-RateLimit-Reset": "soon"})
DATE = "Sun, 29 Nov 2026 12:00:00 GMT"
RESET_IN_90_S = "1795953690"


def refused(status: int, message: str, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, {"message": message, "documentation_url": "https://x"}, named)


def test_a_server_that_is_not_there_is_unavailable() -> None:
    forge = GithubForge(Server(Redactor(), "http://127.0.0.1:9", 1), TokenCredentials("t"))
    with pytest.raises(Unavailable, match="not reachable"):
        forge.pull("o/r", 7)


@pytest.mark.parametrize(
    "act", [Silence(), Reset(), Reply(503), Reply(200, b"<html>"), Reply(302), ODD]
)
def test_a_read_without_a_clear_answer_is_unavailable(
    forge: GithubForge, server: Scripted, act: Reply | Reset | Silence
) -> None:
    server.on("GET", PULL, act)
    with pytest.raises(Unavailable) as caught:
        forge.pull("o/r", 7)
    assert str(caught.value).startswith("could not read o/r#7: ")


@pytest.mark.parametrize("act", [Reset(), Reply(502), Reply(503, None, {"Retry-After": "600"})])
def test_a_read_is_repeated_at_once(
    forge: GithubForge, server: Scripted, act: Reply | Reset
) -> None:
    server.on("GET", PULL, act, Reply(200, payloads.pull()))
    assert forge.pull("o/r", 7).number == 7


@pytest.mark.parametrize("act", [Silence(), Reset(), Reply(502), Reply(500), Reply(504)])
def test_a_write_is_never_repeated(
    forge: GithubForge, server: Scripted, act: Reply | Reset | Silence
) -> None:
    server.on("POST", "/repos/o/r/issues/7/labels", act)
    with pytest.raises(Unclear):
        forge.add_label("o/r", 7, "merge-queue")
    assert len(server.asked("POST")) == 1


@pytest.mark.parametrize("status", [302, 307, 308])
def test_a_write_that_is_sent_elsewhere_was_not_done(
    forge: GithubForge, server: Scripted, status: int
) -> None:
    elsewhere = {"Location": f"{server.url}/repositories/5/issues/7/labels"}
    server.on("POST", "/repos/o/r/issues/7/labels", Reply(status, {}, elsewhere))
    with pytest.raises(Unavailable, match="renamed or moved"):
        forge.add_label("o/r", 7, "merge-queue")


def test_a_redirect_to_another_host_is_refused(forge: GithubForge, server: Scripted) -> None:
    server.on("GET", PULL, Reply(301, {}, {"Location": "http://localhost/repositories/5"}))
    with pytest.raises(Refused, match="MERGEBOT_GITHUB_URL"):
        forge.pull("o/r", 7)


@pytest.mark.parametrize(
    ("reply", "wait_s"),
    [
        (refused(403, "Forbidden", Retry_After="7"), 7),
        (refused(429, "Slow down", Retry_After="7"), 7),
        (refused(429, "Slow down", Retry_After="Sun, 29 Nov 2026 12:00:09 GMT", Date=DATE), 9),
        (refused(429, "Slow down"), 60),
        (refused(403, "You have exceeded a secondary rate limit."), 60),
        (
            refused(
                403,
                "API rate limit exceeded for user ID 1.",
                Date=DATE,
                X_RateLimit_Remaining="0",
                X_RateLimit_Reset=RESET_IN_90_S,
            ),
            91,
        ),
        (refused(403, "API rate limit exceeded", X_RateLimit_Reset="0"), 60),
        (refused(403, "no", Retry_After="99999999"), 3600),
    ],
)
def test_a_rate_limit_says_how_long_to_wait(
    forge: GithubForge, server: Scripted, reply: Reply, wait_s: float
) -> None:
    server.run("POST", "/repos/o/r/issues/7/labels", lambda _: reply)
    with pytest.raises(Unavailable) as caught:
        forge.add_label("o/r", 7, "merge-queue")
    assert caught.value.retry_after_s == wait_s
    assert not isinstance(caught.value, Unclear)


def test_a_refusal_carries_the_forges_own_words(forge: GithubForge, server: Scripted) -> None:
    errors = [{"resource": "Label", "code": "invalid", "field": "name"}, {"message": "too long"}]
    reply = Reply(422, {"message": "Validation Failed", "errors": errors})
    server.on("POST", "/repos/o/r/issues/7/labels", reply)
    with pytest.raises(Refused) as caught:
        forge.add_label("o/r", 7, "x")
    told = "could not put the label x on o/r#7: Validation Failed; Label name invalid; too long."
    assert str(caught.value) == told


def test_what_is_not_there_is_missing(forge: GithubForge, server: Scripted) -> None:
    with pytest.raises(Missing):
        forge.pull("o/r", 8)
    server.on("PATCH", "/repos/o/r/issues/comments/3", Reply(404, {"message": "Not Found"}))
    with pytest.raises(Missing):
        forge.edit_comment("o/r", 3, "text")


def test_a_sentence_is_clean(forge: GithubForge, server: Scripted) -> None:
    message = f"no\r\n\x1b[2J token canary-secret \u202e and {'x' * 1000}"
    server.on("GET", PULL, Reply(400, {"message": message}))
    with pytest.raises(Refused) as caught:
        forge.pull("o/r", 7)
    text = str(caught.value)
    assert "canary" not in text
    assert text.isprintable()
    assert len(text) < 500


def test_the_bots_own_rejected_token_is_waited_out_but_a_callers_is_refused(
    forge: GithubForge, server: Scripted
) -> None:
    server.on("GET", "/user", Reply(401, {"message": "Bad credentials"}))
    with pytest.raises(Unavailable, match="Bad credentials"):
        forge.me()
    with pytest.raises(Refused, match="Bad credentials"):
        forge.caller("somebody")


@pytest.mark.parametrize("token", ["", "two words", "line\nend", "ümlaut", "x" * 5000])
def test_a_callers_odd_token_is_refused_unasked(
    forge: GithubForge, server: Scripted, token: str
) -> None:
    with pytest.raises(Refused):
        forge.caller(token)
    assert server.seen == []


@pytest.mark.parametrize("name", ["o", "o/r/x", "../r", "o/..", "o/r?x", "", "o/r\n"])
def test_an_odd_name_is_refused_unasked(forge: GithubForge, server: Scripted, name: str) -> None:
    with pytest.raises(Refused):
        forge.repository(name)
    assert server.seen == []


@pytest.mark.parametrize("label", ["", ".", ".."])
def test_a_label_that_would_name_all_labels_is_refused_unasked(
    forge: GithubForge, server: Scripted, label: str
) -> None:
    with pytest.raises(Refused):
        forge.remove_label("o/r", 7, label)
    assert server.seen == []


@pytest.mark.parametrize("content", [[], None, {"number": "7"}, payloads.pull(head=None)])
def test_an_answer_in_another_shape_says_nothing(
    forge: GithubForge, server: Scripted, content: object
) -> None:
    server.on("GET", PULL, Reply(200, content))
    with pytest.raises(Unavailable, match="not what its API describes"):
        forge.pull("o/r", 7)
