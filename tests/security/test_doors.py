import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.testclient import TestClient

from mergebot.adapters.signing import KeyNotary
from mergebot.domain.candidate import Queued
from mergebot.domain.ids import Actor
from mergebot.ports.errors import Refused
from mergebot.ports.forge import Permission
from mergebot.web.session import SESSION_S, Session, new_session, written
from tests.support import website
from tests.support.sample import LANE, candidate
from tests.support.website import ADMIN_TOKEN, Website, hook_headers, payload

HOME = "http://127.0.0.1:8420"
OURS = {"Origin": HOME}
REPO = "/o/r"
PR = f"{REPO}/pull/7"


@pytest.fixture
def site() -> Website:
    made = Website()
    made.put(candidate(Queued()))
    return made


@pytest.fixture
def client(site: Website) -> Iterator[TestClient]:
    with opened(site) as made:
        yield made


def opened(site: Website, home: str = HOME) -> TestClient:
    return TestClient(site.app(), base_url=home, follow_redirects=False)


def sign_in(client: TestClient, token: str, **more: str) -> int:
    return client.post("/login", data={"token": token, **more}, headers=OURS).status_code


def form_of(client: TestClient) -> str:
    found = re.search(r'name="form" value="([0-9a-f]+)"', client.get(PR).text)
    assert found, "the page shows no form"
    return found[1]


def send(client: TestClient, address: str, **fields: str) -> int:
    return client.post(address, data=fields, headers=OURS).status_code


@pytest.mark.parametrize("token", ["tok-ada", "tok-mia", ADMIN_TOKEN])
def test_who_signed_in_cancels_from_the_page(client: TestClient, site: Website, token: str) -> None:
    assert sign_in(client, token) == 303
    assert send(client, f"{PR}/cancel", form=form_of(client)) == 303
    assert site.operator.asked[0][:3] == ("cancel", "o/r", 7)


@pytest.mark.parametrize("token", ["", "wrong", "x" * 501, "é", "tok-ada\r\nSet-Cookie: a=b"])
def test_a_wrong_token_signs_nobody_in(client: TestClient, token: str) -> None:
    assert sign_in(client, token) in {401, 403}
    assert not client.cookies


def test_the_session_cookie_is_kept_from_scripts_and_other_sites(client: TestClient) -> None:
    answer = client.post("/login", data={"token": "tok-ada"}, headers=OURS)
    flags = answer.headers["set-cookie"].lower()
    assert all(flag in flags for flag in ("httponly", "samesite=lax", "path=/", "max-age=28800"))
    assert "tok-ada" not in flags


def test_over_https_the_cookie_is_secure_and_bound_to_the_host(site: Website) -> None:
    home = "https://queue.example"
    site.settings = replace(site.settings, public_url=home)
    with opened(site, home) as client:
        answer = client.post("/login", data={"token": "tok-ada"}, headers={"Origin": home})
    assert answer.headers["set-cookie"].startswith("__Host-mergebot=")
    assert "secure" in answer.headers["set-cookie"].lower()


def forged_sessions(site: Website) -> dict[str, str]:
    ada = new_session(Actor(11, "ada"), site.clock.now())
    genuine = written(site.notary, ada)
    stranger = KeyNotary(Ed25519PrivateKey.generate())
    over = replace(ada, until=site.clock.now() - 1)
    return {
        "made with another key": written(stranger, ada),
        "over": written(site.notary, over),
        "another's name under the seal": written(site.notary, ada).replace(
            genuine.split(".")[0], written(site.notary, Session(Actor(12, "mia"), "", ada.until, "n")).split(".")[0]
        ),
        "without a seal": genuine.split(".")[0],
        "cut": genuine[:-1],
        "an admin's by an older token": written(site.notary, replace(ada, admin="0" * 16)),
        "nonsense": "%%%.%%%",
    }  # fmt: skip


@pytest.mark.parametrize("kind", sorted(forged_sessions(Website())))
def test_a_session_that_was_not_made_here_opens_nothing(site: Website, kind: str) -> None:
    site.private.add("o/r")
    with opened(site) as client:
        client.cookies.set("mergebot", forged_sessions(site)[kind])
        assert client.get(PR).status_code == 404
        assert send(client, f"{PR}/cancel", form="0" * 64) in {401, 403, 404}
    assert site.operator.asked == []


def test_a_session_ends_after_eight_hours(client: TestClient, site: Website) -> None:
    sign_in(client, "tok-ada")
    form = form_of(client)
    site.clock.at += SESSION_S + 1
    assert send(client, f"{PR}/cancel", form=form) == 401
    assert site.operator.asked == []


def test_a_form_of_another_session_fits_none(site: Website) -> None:
    with opened(site) as ada, opened(site) as mia:
        sign_in(ada, "tok-ada")
        sign_in(mia, "tok-mia")
        stolen = form_of(ada)
        for form in (stolen, "", "0" * 64):
            assert send(mia, f"{REPO}/halt", form=form, reason="x") == 403
    assert site.operator.asked == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {},
        {"Origin": HOME, "Sec-Fetch-Site": "cross-site"},
        {"Origin": f"{HOME}.evil.example"},
    ],
)
@pytest.mark.parametrize("address", ["/login", "/logout", f"{PR}/cancel", f"{REPO}/halt"])
def test_a_form_from_another_site_does_nothing(
    client: TestClient, site: Website, address: str, headers: dict[str, str]
) -> None:
    sign_in(client, "tok-mia")
    fields = {"form": form_of(client), "reason": "x", "token": "tok-ada"}
    assert client.post(address, data=fields, headers=headers).status_code == 403
    assert site.operator.asked == []


def test_the_cookie_does_not_open_the_api(client: TestClient, site: Website) -> None:
    sign_in(client, ADMIN_TOKEN)
    for path in ("halt", "candidates/7", "candidates/7/cancel"):
        answer = client.post(f"/api/v1/repos/o/r/{path}", json={"reason": "x"}, headers=OURS)
        assert answer.status_code == 401
    assert site.operator.asked == []


def test_what_somebody_may_do_is_asked_at_each_action(
    client: TestClient, site: Website, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_in(client, "tok-mia")
    form = form_of(client)
    demoted = {**website.PEOPLE, "tok-mia": (Actor(12, "mia"), Permission.READ)}
    monkeypatch.setattr(website, "PEOPLE", demoted)
    assert send(client, f"{REPO}/halt", form=form, reason="x") == 403
    assert site.operator.asked == []


def test_only_a_maintainer_halts_and_resumes(site: Website) -> None:
    for token, status in (("tok-ada", 403), ("tok-mia", 303)):
        with opened(site) as client:
            sign_in(client, token)
            form = form_of(client)
            for address in (f"{REPO}/halt", f"{REPO}/resume"):
                assert send(client, address, form=form, reason="x") == status
    assert [each[2] for each in site.operator.asked] == ["mia", "mia"]


def test_a_reader_only_reads(client: TestClient, site: Website) -> None:
    sign_in(client, "tok-eve")
    form = form_of(client)
    for address in (f"{PR}/cancel", f"{PR}/retry", f"{PR}/hold", f"{REPO}/halt", f"{REPO}/resume"):
        assert send(client, address, form=form, reason="x") == 403
    assert site.operator.asked == []


def test_a_private_page_is_there_for_its_readers_only(site: Website) -> None:
    site.private.add("o/r")
    with opened(site) as client:
        assert client.get(PR).status_code == 404
        assert "o/r" not in client.get("/").text
        sign_in(client, "tok-eve")
        assert client.get(PR).status_code == 200
        assert client.get("/api/v1/repos/o/r/queue").status_code == 200


def test_who_lost_the_right_to_read_reads_for_a_minute_at_most(
    site: Website, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.private.add("o/r")
    with opened(site) as client:
        sign_in(client, "tok-eve")
        assert client.get(PR).status_code == 200
        monkeypatch.setattr(website, "PEOPLE", {})
        site.clock.at += 61
        assert client.get(PR).status_code == 404


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "/\n/x",
        "",
    ],
)
def test_signing_in_leads_to_no_other_site(client: TestClient, address: str) -> None:
    fields = {"token": "tok-ada", "next": address}
    answer = client.post("/login", data=fields, headers=OURS)
    assert answer.headers["location"] == "/"


def test_tokens_cannot_be_guessed_by_trying(client: TestClient) -> None:
    answers = [sign_in(client, f"guess-{number}") for number in range(40)]
    assert answers.count(429) >= 29
    assert sign_in(client, "tok-ada") == 429


def test_forged_deliveries_exhaust_their_sender(client: TestClient) -> None:
    body = payload(action="labeled")
    headers = {**hook_headers(body), "X-Hub-Signature-256": "sha256=" + "0" * 64}
    codes = [
        client.post("/hooks/github", content=body, headers=headers).status_code for _ in range(150)
    ]
    assert codes[0] == 401
    assert codes[-1] == 429


def test_a_genuine_burst_is_taken(client: TestClient, site: Website) -> None:
    for number in range(300):
        body = payload(action="labeled", number=number)
        headers = hook_headers(body, guid=f"g-{number}")
        assert client.post("/hooks/github", content=body, headers=headers).status_code == 202
    assert site.inbox.depth() == 300


@dataclass
class Gate:
    """A forge's sign-in page that knows one code."""

    asked: list[str] = field(default_factory=list)
    verifiers: list[str] = field(default_factory=list)

    def address(self, state: str, back: str, *, verifier: str) -> str:
        self.asked.append(state)
        self.verifiers.append(verifier)
        return f"https://forge.example/authorize?state={state}"

    def token(self, code: str, back: str, *, verifier: str) -> str:
        if code != "good" or verifier not in self.verifiers:
            raise Refused("no such code")
        return "tok-ada"


def test_through_the_forge_only_the_browser_that_asked_comes_back(site: Website) -> None:
    site.sign_in = Gate()
    with opened(site) as client:
        client.get("/login/forge")
        state = site.sign_in.asked[0]
        assert client.get(f"/login/back?code=good&state={state}x").status_code == 403
        assert client.get("/login/back?code=good&state=").status_code == 403
        with opened(site) as other:
            assert other.get(f"/login/back?code=good&state={state}").status_code == 403
        assert client.get(f"/login/back?code=bad&state={state}").status_code == 409
        assert client.get(f"/login/back?code=good&state={state}").status_code == 303
        assert "ada" in client.get("/").text


def test_an_action_is_no_link(client: TestClient, site: Website) -> None:
    sign_in(client, ADMIN_TOKEN)
    for address in (f"{PR}/cancel", f"{PR}/retry", f"{REPO}/halt", "/logout"):
        assert client.get(address).status_code in {404, 405}
    assert site.operator.asked == []
    assert LANE.repo == "o/r"


def test_signing_out_forgets_the_session(client: TestClient) -> None:
    sign_in(client, "tok-ada")
    assert send(client, "/logout", form=form_of(client)) == 303
    assert not client.cookies
