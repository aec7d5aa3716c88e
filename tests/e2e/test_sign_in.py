"""Signing in through the forge, in a real browser: `mergebot up`, the forge's page, and back."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.support.browser import launched
from tests.support.forge import ForgeProcess
from tests.support.product import ADMIN_TOKEN, Project, Stack

pytestmark = pytest.mark.slow

NAME = "vault"


@dataclass
class House:
    """The product with a private repository, and a browser nobody has used."""

    stack: Stack
    client_id: str
    secret: str
    browser: Browser

    @property
    def project(self) -> Project:
        return self.stack.project(NAME)

    @property
    def queue(self) -> str:
        return f"{self.stack.url}/ada/{NAME}"

    def knows(self, number: int) -> bool:
        return requests.get(
            f"{self.stack.url}/api/v1/repos/ada/{NAME}/candidates/{number}",
            headers={"Authorization": f"Bearer {ADMIN_TOKEN}"},
            timeout=30,
        ).ok

    def trade(self, code: str, **more: str) -> dict[str, str]:
        body = {"client_id": self.client_id, "client_secret": self.secret, "code": code} | more
        answer = requests.post(
            f"{self.stack.forge.url}/login/oauth/access_token",
            data=body,
            headers={"Accept": "application/json"},
            timeout=30,
        )
        assert answer.ok, answer.text
        found: dict[str, str] = answer.json()
        return found


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    root = tmp_path_factory.mktemp("sign-in")
    with ForgeProcess(root / "forge") as forge, launched() as browser:
        asked = {"name": "mergebot", "callback_url": "http://127.0.0.1/login/back"}
        made = forge.call("POST", "/_forge/oauth-apps", asked).json()
        client_id, secret = made["client_id"], made["client_secret"]
        settings = {"MERGEBOT_OAUTH_CLIENT_ID": client_id, "MERGEBOT_OAUTH_CLIENT_SECRET": secret}
        stack = Stack(root / "home", forge, (NAME,), settings, imported=(NAME,))
        stack._create(NAME)
        hidden = forge.call("PATCH", f"/repos/ada/{NAME}", {"private": True})
        assert hidden.json()["private"], hidden.text
        with stack:
            yield House(stack, client_id, secret, browser)


@pytest.fixture
def context(house: House) -> Iterator[BrowserContext]:
    context = house.browser.new_context()
    yield context
    context.close()


def sign_in(house: House, page: Page, login: str, onward: str = "") -> None:
    page.goto(f"{house.stack.url}/login?next={onward or f'/ada/{NAME}'}")
    page.get_by_text("Sign in through the forge").click()
    expect(page.get_by_role("heading")).to_have_text("Authorize mergebot")
    page.get_by_label("A token of yours").fill(house.stack.forge.user(login))
    page.get_by_role("button", name="Authorize").click()


def test_whoever_may_read_sees_a_private_queue_after_signing_in(
    house: House, context: BrowserContext
) -> None:
    page = context.new_page()
    answer = page.goto(house.queue)
    assert answer is not None
    assert answer.status == 404
    sign_in(house, page, "bob")
    expect(page).to_have_url(house.queue)
    expect(page.locator("body")).to_contain_text("bob", ignore_case=True)


def test_whoever_may_not_read_is_told_the_same_as_a_stranger(
    house: House, context: BrowserContext
) -> None:
    house.stack.forge.user("mallory")
    page = context.new_page()
    sign_in(house, page, "mallory")
    expect(page.locator("body")).to_contain_text(
        f"there is no queue for ada/{NAME} here", ignore_case=True
    )


def test_the_session_is_out_of_reach_of_scripts_and_ends_on_signing_out(
    house: House, context: BrowserContext
) -> None:
    page = context.new_page()
    sign_in(house, page, "bob")
    expect(page).to_have_url(house.queue)
    (cookie,) = context.cookies()
    assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == ("mergebot", True, "Lax")
    assert page.evaluate("document.cookie") == ""
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(f"{house.stack.url}/")
    assert context.cookies() == []
    answer = page.goto(house.queue)
    assert answer is not None
    assert answer.status == 404


def test_the_right_to_act_is_asked_again_for_every_deed(
    house: House, context: BrowserContext
) -> None:
    number = house.project.propose("Park me", {"one.txt": "1\n"}, label="merge-queue-hold")
    page = context.new_page()
    sign_in(house, page, "bob", f"/ada/{NAME}/pull/{number}")
    house.project.label(number)
    house.stack.until(lambda: house.knows(number), "the pull request to be known")
    page.reload()
    path = f"/repos/ada/{NAME}/collaborators/bob"
    house.stack.forge.call("PUT", path, {"permission": "pull"}, token=house.stack.forge.user("ada"))
    try:
        page.locator(f"form[action='/ada/{NAME}/pull/{number}/cancel'] button").click()
        expect(page.locator("body")).to_contain_text("bob has read permission", ignore_case=True)
        assert house.stack.forge.call("GET", f"/repos/ada/{NAME}/issues/{number}").json()["labels"]
    finally:
        ada = house.stack.forge.user("ada")
        house.stack.forge.call("PUT", path, {"permission": "push"}, token=ada)


def test_a_browser_that_did_not_ask_is_not_signed_in_with_somebody_elses_code(
    house: House, context: BrowserContext
) -> None:
    asked = requests.get(f"{house.stack.url}/login/forge", allow_redirects=False, timeout=30)
    allowed = {"answer": "allow", "token": house.stack.forge.user("bob")}
    sent = requests.post(asked.headers["location"], allowed, allow_redirects=False, timeout=30)
    way_back = sent.headers["location"]
    stranger = context.new_page()
    stranger.goto(way_back)
    told = "this browser did not ask to sign in"
    expect(stranger.locator("body")).to_contain_text(told, ignore_case=True)
    assert context.cookies() == []
    given = {key: values[0] for key, values in parse_qs(urlsplit(way_back).query).items()}
    # Nor is the code worth anything without the verifier, which no browser ever sees.
    assert house.trade(given["code"])["error"] == "bad_verification_code"


def test_whoever_would_rather_not_is_not_signed_in(house: House, context: BrowserContext) -> None:
    page = context.new_page()
    page.goto(f"{house.stack.url}/login/forge")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("body")).to_contain_text(
        "the forge did not say who you are", ignore_case=True
    )
    page.goto(f"{house.stack.url}/login/forge")
    page.get_by_label("A token of yours").fill("ghp_nobody")
    page.get_by_role("button", name="Authorize").click()
    expect(page.get_by_role("alert")).to_contain_text("no token of a person", ignore_case=True)


def test_the_forge_sends_nobody_to_an_address_that_was_not_registered(house: House) -> None:
    asked = {"client_id": house.client_id, "redirect_uri": "http://evil.example/", "state": "s"}
    answer = requests.get(
        f"{house.stack.forge.url}/login/oauth/authorize",
        params=asked,
        allow_redirects=False,
        timeout=30,
    )
    place = urlsplit(answer.headers["location"])
    assert place.hostname == "127.0.0.1"
    assert parse_qs(place.query)["error"] == ["redirect_uri_mismatch"]
